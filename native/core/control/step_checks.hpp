// Checks the results that a backend reports for opened streams and steps.
#pragma once

#include <cstdint>
#include <vector>

#include "core/control/job.hpp"

namespace sotto {

// Throws Error(SOTTO_ERROR_INFERENCE) if the stream that the job opened
// has a prompt longer than the model's context. Operations that produce data instead
// of text have no such limit: the backend chooses the units in which they count.
void check_prompt(const ModelInfo& model, const OpenJob& job);

// Throws Error(SOTTO_ERROR_INFERENCE) if a stream has made no progress in
// 10,000 steps in a row, and would never end. The limit is high because a stream may
// wait during many steps while another stream that shares its prompt is prefilled.
void check_progress(Stream& stream, const sotto_step_item& work, const Job& job);

// Throws Error(SOTTO_ERROR_INFERENCE) if the backend cancels a step although no gate requested
// it, or if 100 steps in a row did nothing for any stream: the step would be repeated
// indefinitely. Some streams of a step may wait for others, but never all of them.
// `before`: prompt tokens that each stream had left before the step.
void check_step(Job& job, const StepJob& step, sotto_status status, const std::vector<std::uint32_t>& before);

// Returns true if each stream of the job generated a token, and has more to generate.
bool goes_on(const Job& job) noexcept;

} // namespace sotto
