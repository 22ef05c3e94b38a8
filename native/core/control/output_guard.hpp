// Checks complete answers against guardrails that need models.
#pragma once

#include <vector>

#include "core/check/guarded_texts.hpp"
#include "core/control/stream.hpp"

namespace sotto {

// Returns the texts of complete answers: what they say, their reasoning, and the arguments of tool calls.
// `guard` has checkers of the output that need models.
GuardedTexts texts_of(const std::vector<EndedChoice>& choices, std::shared_ptr<const guard::Guard> guard);

// Changes the answers as the verdicts on the texts of texts_of() say. A blocked answer loses all its text, a
// rewritten one has the replacement instead; either ends with SOTTO_FINISH_CONTENT_FILTER.
void apply_verdicts(std::vector<EndedChoice>& choices, const std::vector<guard::Verdict>& verdicts);

} // namespace sotto
