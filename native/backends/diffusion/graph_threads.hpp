// Threads that compute the graphs of one image, in the scheduling class of the engine's steps.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include <ggml-cpu.h>
#include <sotto/module.h>

#include "threads/thread_class.hpp"

namespace sotto::diffusion {

// Used on the thread that generates the image; the pool's threads take their class from it.
class GraphThreads {
public:
    // `most`: of a pool; 0: no limit.
    explicit GraphThreads(std::uint32_t most) noexcept : most_(most) {}

    // Returns a pool of `granted` threads, the calling thread included, or of the most that it may have.
    // Throws Error if the system has no thread left.
    ggml_threadpool* pool(std::uint32_t granted);
    // Threads of the pool.
    std::uint32_t size() const noexcept { return size_; }
    // Puts the calling thread and the pool's threads into a class.
    void enter(sotto_thread_class thread_class);

private:
    struct Free {
        void operator()(ggml_threadpool* pool) const noexcept { ggml_threadpool_free(pool); }
    };

    static void began(void* threads) noexcept;
    void add_calling() noexcept;

    const std::uint32_t most_;
    std::mutex mutex_; // guards the two members below
    std::vector<threads::ThreadNumber> numbers_;
    sotto_thread_class class_ = SOTTO_THREAD_NORMAL;
    std::uint32_t size_ = 0; // of the pool
    std::unique_ptr<ggml_threadpool, Free> pool_;
};

} // namespace sotto::diffusion
