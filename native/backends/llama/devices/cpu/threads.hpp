// Creates thread pools that compute ggml's graphs.
#pragma once

#include "runtime/fence.hpp"

#include <ggml-cpu.h>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace sotto::llama {

// Throws Error(SOTTO_ERROR_MEMORY) if `count` threads cannot be started. Call require_threads() before code
// that terminates the process, or leaks threads, if a thread cannot be started.
void require_threads(std::uint32_t count);

// Thread pools by class and size, created on first use, shared by all models of one engine. The engine's
// compute thread runs one graph at a time.
class ThreadPools {
public:
    // Returns the pool of a class and size; creates it on first use. Call on the compute thread: on Linux a
    // new thread inherits its creator's class, and ggml does not change the class of threads with normal
    // priority.
    ggml_threadpool* of(sotto_thread_class thread_class, std::uint32_t threads);

    // Count the open models. Pools are destroyed when the last model is closed, because every model may use
    // every pool.
    void model_opened();
    void model_closed();

private:
    struct Free {
        void operator()(ggml_threadpool* pool) const noexcept { ggml_threadpool_free(pool); }
    };

    std::mutex mutex_; // guards the members below
    std::map<std::pair<sotto_thread_class, std::uint32_t>, std::unique_ptr<ggml_threadpool, Free>> pools_;
    int models_ = 0;
};

} // namespace sotto::llama
