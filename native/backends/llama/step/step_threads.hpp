// Chooses the threads of a step.
#pragma once

#include "devices/cpu/threads.hpp"
#include "model/contexts.hpp"

#include <cstdint>

namespace sotto::llama {

// Lets the contexts compute with the threads that `step` allows, but with at most `most`; 0: no limit. Throws
// Error if a thread cannot start. Must be called within a Call.
void use_threads(const sotto_step& step, std::uint32_t most, Contexts& contexts, ThreadPools& pools);

} // namespace sotto::llama
