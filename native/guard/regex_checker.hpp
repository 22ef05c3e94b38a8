// Finds what regular expressions match, in time linear in the text.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "guard/checker.hpp"

namespace sotto::guard {

class RegexChecker : public TextChecker {
public:
    RegexChecker();
    ~RegexChecker() override;

    // Adds an expression in RE2's syntax. Returns the reason why it is refused, or the empty string. `left`:
    // how many instructions the expressions of a guard may still compile to; reduced by those of this one.
    std::string add(std::string_view pattern, bool ignore_case, bool allowed, std::size_t& left);

    Scan scan(std::string_view text, std::size_t from, bool whole) const override;

private:
    struct Expression;

    std::vector<std::unique_ptr<Expression>> expressions_;
};

} // namespace sotto::guard
