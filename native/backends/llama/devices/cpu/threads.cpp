// Creates thread pools that compute ggml's graphs.
#include "devices/cpu/threads.hpp"

#include "devices/cpu/cores.hpp"
#include "llama_cpp/thread_start.hpp"

#include <atomic>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

namespace sotto::llama {

void require_threads(std::uint32_t count) {
    std::vector<std::thread> threads;
    threads.reserve(count);
    std::atomic<bool> over{false};
    std::error_code failed;
    try {
        while (threads.size() < count) {
            threads.emplace_back([&] { over.wait(false); });
        }
    } catch (const std::system_error& error) {
        failed = error.code();
    } catch (const std::bad_alloc&) {
        failed = std::make_error_code(std::errc::not_enough_memory);
    }
    over = true;
    over.notify_all();
    for (auto& thread : threads) {
        thread.join();
    }
    if (failed) {
        refuse_thread(failed);
    }
}

ggml_threadpool* ThreadPools::of(sotto_thread_class thread_class, std::uint32_t threads) {
    std::lock_guard lock(mutex_);
    auto& pool = pools_[{thread_class, threads}];
    if (!pool) {
        auto wanted = ggml_threadpool_params_default(static_cast<int>(threads));
        wanted.prio = GGML_SCHED_PRIO_NORMAL;
        // Between graphs the threads sleep, which leaves the cores to the game. With compute priority they
        // poll for some milliseconds for the next graph: waking them for each token would cost a tenth of the
        // token's time.
        wanted.poll = thread_class == SOTTO_THREAD_NORMAL ? 1 : 0;
        require_threads(threads - 1); // the calling thread counts as one
        pool.reset(ggml_threadpool_new(&wanted));
        put_into_class(pool.get(), wanted.n_threads, thread_class);
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
