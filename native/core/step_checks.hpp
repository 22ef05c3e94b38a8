// What a step of a backend did, judged: whether it kept the contract, and whether another like it may follow.
#pragma once

#include <cstdint>
#include <vector>

#include "core/compute.hpp"

namespace sotto {

// Throws Error(SOTTO_ERROR_INFERENCE) for a stream that would be in steps for ever. A stream may wait in many
// steps, while one that it shares a prompt with is worked through.
void check_progress(Stream& stream, const sotto_step_item& work, const Job& job);

// Throws Error(SOTTO_ERROR_INFERENCE) for a backend that gives up a step unasked, or does nothing in many: it
// would be asked again for ever. Streams may wait for each other in some steps, but never all of them.
void check_step(Job& job, sotto_status status, const std::vector<std::uint32_t>& before);

// Whether each of its streams gave a token, and has more to give.
bool goes_on(const Job& job) noexcept;

} // namespace sotto
