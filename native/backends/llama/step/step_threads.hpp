// Chooses the threads of a step.
#pragma once

#include "devices/cpu/threads.hpp"
#include "model/contexts.hpp"

namespace sotto::llama {

// Lets the contexts compute with the threads that `step` allows. Throws Error if a thread cannot start. Must
// be called within a Call.
void use_threads(const sotto_step& step, Contexts& contexts, ThreadPools& pools);

} // namespace sotto::llama
