// Checks what a request sends to a model against the engine's guardrails.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sotto/request.h>

#include "core/check/guarded_texts.hpp"
#include "guard/guard.hpp"

namespace sotto {

// What the checkers that need no model decided about a body.
struct GuardedBody {
    std::optional<std::string> rewritten; // the body with rewritten texts; absent: no text was rewritten
    GuardedTexts unchecked;               // what checkers that need models have yet to check
};

// Checks the texts of user messages, or a completion's prompt, in a body that the codec has read. Checkers
// that need models get only what is new: user messages after the last answer. Throws
// Error(SOTTO_ERROR_BLOCKED) that names the blocked text by its JSON path, or Error(SOTTO_ERROR_CANCELLED).
// Does nothing for other operations.
GuardedBody guarded_body(
    const std::shared_ptr<const guard::Guard>& guard,
    sotto_op op,
    std::string_view body,
    const std::atomic<bool>* cancelled
);

// Returns the body with the texts that checkers have rewritten. `verdicts`: of each of `texts`. Throws
// Error(SOTTO_ERROR_BLOCKED) if a verdict blocks its text.
std::optional<std::string> guarded_body(
    const std::vector<GuardedText>& texts,
    const std::vector<guard::Verdict>& verdicts,
    sotto_op op,
    std::string_view body
);

// The text of a SOTTO_OP_CHECK.
struct CheckedText {
    guard::Verdict verdict; // of the checkers that need no model
    GuardedTexts unchecked;
};

// Checks the text of a SOTTO_OP_CHECK whose body the codec has read. `guard`: the engine's guardrails, which
// those of the body replace, or null. Throws Error(SOTTO_ERROR_STATE) if there are none,
// Error(SOTTO_ERROR_ARGUMENT) that names the JSON path, or Error(SOTTO_ERROR_CANCELLED).
CheckedText checked_text(
    std::shared_ptr<const guard::Guard> guard, std::string_view body, const std::atomic<bool>* cancelled
);

} // namespace sotto
