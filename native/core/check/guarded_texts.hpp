// Texts that the checkers of a guard that need models have yet to check.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "guard/guard.hpp"

namespace sotto {

struct GuardedText {
    std::string path; // in the request's body, or of the answer
    std::string text;
};

struct GuardedTexts {
    std::shared_ptr<const guard::Guard> guard;
    guard::Stage stage = guard::Stage::input;
    bool check_all = false; // also after a blocked text
    std::vector<GuardedText> texts;

    bool is_empty() const noexcept { return texts.empty(); }
};

constexpr std::size_t kMaxModelText = std::size_t{1} << 20; // bytes of one text

// Throws Error(SOTTO_ERROR_ARGUMENT) if a text is too large for checkers that need models.
void check_size(const GuardedText& text);

// Adds what the checkers that need models decided about a text, `later`, to the verdict of the other
// checkers.
void add_verdict(guard::Verdict& verdict, guard::Verdict later);

} // namespace sotto
