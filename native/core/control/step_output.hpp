// Converts what a step generated for a stream to the text of its answer.
#pragma once

#include "core/request/answer.hpp"
#include "module/backend.hpp"

namespace sotto {

// Adds an item of a step to the answer of its stream. Returns what is new. Throws
// Error(SOTTO_ERROR_INFERENCE) if the backend returned invalid JSON.
AnswerIncrement read_output(const sotto_step_item& work, Model& model, Answer& answer);

} // namespace sotto
