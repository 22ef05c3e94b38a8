// What a chain of checkers decides about a text.
#pragma once

#include <optional>
#include <string>

namespace sotto::guard {

enum class Action { allow, block, rewrite };

struct Verdict {
    Action action = Action::allow;
    std::string reason;   // unless allowed
    std::string original; // of a rewritten text
    std::string rewritten;
    std::string checker;         // name of the checker that decided; of an allowed text, of the last one
    std::optional<double> score; // 0 to 1
    std::string category;        // empty: none
};

// Returns the verdict as JSON: action, checker_name, score, allowed, category.
std::string to_json(const Verdict& verdict);

} // namespace sotto::guard
