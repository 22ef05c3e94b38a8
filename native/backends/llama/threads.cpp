// The threads that graphs are computed on.
#include "threads.hpp"

namespace sotto::llama {

ggml_threadpool* ThreadPools::of(sotto_thread_class thread_class, std::uint32_t threads) {
    std::lock_guard lock(mutex_);
    auto& pool = pools_[{thread_class, threads}];
    if (!pool) {
        auto wanted = ggml_threadpool_params_default(static_cast<int>(threads));
        wanted.prio = GGML_SCHED_PRIO_NORMAL;
        // Between graphs they sleep: those cores are the game's. But where compute comes first they look out
        // for the next graph for some milliseconds; to be woken for each token would cost a tenth of it.
        wanted.poll = thread_class == SOTTO_THREAD_NORMAL ? 1 : 0;
        pool.reset(ggml_threadpool_new(&wanted));
    }
    return pool.get();
}

void ThreadPools::model_opened() {
    std::lock_guard lock(mutex_);
    ++models_;
}

void ThreadPools::model_closed() {
    std::lock_guard lock(mutex_);
    if (--models_ == 0) {
        pools_.clear();
    }
}

} // namespace sotto::llama
