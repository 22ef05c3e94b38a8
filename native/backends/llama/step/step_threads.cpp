// Chooses the threads of a step.
#include "step/step_threads.hpp"

#include "runtime/guard.hpp"

#include <algorithm>

namespace sotto::llama {

void use_threads(const sotto_step& step, std::uint32_t most, Contexts& contexts, ThreadPools& pools) {
    if (contexts.get() == nullptr) {
        return; // no slots: nothing to compute
    }
    constexpr std::uint32_t kMost = GGML_MAX_N_THREADS;
    const auto threads = std::clamp(step.threads, 1u, most == 0 ? kMost : std::min(most, kMost));
    ggml_threadpool* pool = nullptr;
    {
        const Call call(Call::current()->host(), Call::Abort::Throws); // throws if a thread cannot start
        pool = pools.of(step.thread_class, threads);
    }
    contexts.use_threads(pool, static_cast<std::int32_t>(threads));
}

} // namespace sotto::llama
