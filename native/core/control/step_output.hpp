// Converts the output that a step generated for a stream to parts of the stream's answer.
#pragma once

#include "core/request/answer.hpp"
#include "module/backend.hpp"

namespace sotto {

// Adds the output of one stream of a step to the stream's answer. Returns the parts of the answer
// that are new. Throws Error(SOTTO_ERROR_INFERENCE) if the backend returned invalid JSON.
AnswerIncrement read_output(const sotto_step_item& work, Model& model, Answer& answer);

} // namespace sotto
