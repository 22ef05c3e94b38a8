// Checks what a backend reports of a stream that it opened, and of a step.
#pragma once

#include <cstdint>
#include <vector>

#include "core/control/job.hpp"

namespace sotto {

// Throws Error(SOTTO_ERROR_INFERENCE) if the stream that the job opened has a prompt longer than the model's
// context. Operations with data count in units of the backend's choice, which have no such limit.
void check_prompt(const ModelInfo& model, const OpenJob& job);

// Throws Error(SOTTO_ERROR_INFERENCE) for a stream that would never end. A stream may wait in many steps
// while another one prefills the prefix that both share.
void check_progress(Stream& stream, const sotto_step_item& work, const Job& job);

// Throws Error(SOTTO_ERROR_INFERENCE) for a backend that aborts a step without a request, or does nothing in
// many steps, which would never end. Streams may wait for each other in some steps, but never all of them.
void check_step(Job& job, const StepJob& step, sotto_status status, const std::vector<std::uint32_t>& before);

// Returns true if each stream of the job generated a token and can generate more.
bool goes_on(const Job& job) noexcept;

} // namespace sotto
