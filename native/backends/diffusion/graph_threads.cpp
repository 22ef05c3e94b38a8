#include "backends/diffusion/graph_threads.hpp"

#include <algorithm>

#include "devices/cpu/cores.hpp"
#include "devices/cpu/threads.hpp"
#include "llama_cpp/thread_start.hpp"

namespace sotto::diffusion {

ggml_threadpool* GraphThreads::pool(std::uint32_t granted) {
    const auto threads = std::clamp(granted, 1U, most_ != 0 ? most_ : GGML_MAX_N_THREADS);
    if (pool_ != nullptr && size_ == threads) {
        return pool_.get();
    }
    pool_.reset();
    {
        const std::lock_guard lock(mutex_);
        numbers_.clear();
    }
    add_calling();
    llama::require_threads(threads - 1);
    auto wanted = ggml_threadpool_params_default(static_cast<int>(threads));
    wanted.prio = GGML_SCHED_PRIO_NORMAL;
    wanted.poll = 0; // between graphs the threads sleep
    const llama::ThreadStarts starts(began, this);
    pool_.reset(ggml_threadpool_new(&wanted));
    llama::put_into_class(pool_.get(), wanted.n_threads, class_);
    size_ = threads;
    return pool_.get();
}

void GraphThreads::began(void* threads) noexcept {
    static_cast<GraphThreads*>(threads)->add_calling();
}

void GraphThreads::add_calling() noexcept {
    const std::lock_guard lock(mutex_);
    const auto number = threads::this_thread_number();
    try {
        numbers_.push_back(number);
    } catch (const std::bad_alloc&) { // the thread keeps its class
    }
    threads::set_thread_class(number, class_);
}

void GraphThreads::enter(sotto_thread_class thread_class) {
    const std::lock_guard lock(mutex_);
    if (class_ == thread_class) {
        return;
    }
    class_ = thread_class;
    if (numbers_.empty()) {
        numbers_.push_back(threads::this_thread_number());
    }
    for (const auto number : numbers_) {
        threads::set_thread_class(number, thread_class);
    }
}

} // namespace sotto::diffusion
