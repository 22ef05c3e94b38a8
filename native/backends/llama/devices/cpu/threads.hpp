// The threads that graphs are computed on.
#pragma once

#include "runtime/fence.hpp"

#include <ggml-cpu.h>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

namespace sotto::llama {

// Throws Error(SOTTO_ERROR_MEMORY) where so many threads cannot be started: before code that ends the process
// then, or leaves behind those that it had begun.
void require_threads(std::uint32_t count);

// Pools by class and size, made when first asked for, shared by all models of one engine, whose
// compute thread runs one graph at a time.
class ThreadPools {
public:
    // Called on the compute thread: on Linux a new thread is of the class of the one that makes it,
    // and stays so, because ggml leaves the class alone at its normal priority.
    ggml_threadpool* of(sotto_thread_class thread_class, std::uint32_t threads);

    // A pool may be the last one that some model used, so pools go when no model is left.
    void model_opened();
    void model_closed();

private:
    struct Free {
        void operator()(ggml_threadpool* pool) const noexcept { ggml_threadpool_free(pool); }
    };

    std::mutex mutex_; // guards what follows
    std::map<std::pair<sotto_thread_class, std::uint32_t>, std::unique_ptr<ggml_threadpool, Free>> pools_;
    int models_ = 0;
};

} // namespace sotto::llama
