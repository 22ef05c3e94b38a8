#include "llama_cpp/thread_start.hpp"

#include "runtime/fence.hpp"

#include <memory>

#ifndef _WIN32
#  include <pthread.h>
#endif

namespace sotto::llama {
namespace {

struct Starting {
    ThreadStarts::Began began;
    void* context;
};

thread_local Starting starting = {nullptr, nullptr};

} // namespace

ThreadStarts::ThreadStarts(Began began, void* context) noexcept {
    starting = {began, context};
}

ThreadStarts::~ThreadStarts() {
    starting = {nullptr, nullptr};
}

void refuse_thread(const std::error_code& failed) {
    throw Error(
        SOTTO_ERROR_MEMORY,
        "no thread could be started: " + failed.message() +
            "; end other threads, or raise the limit on threads of this user or container"
    );
}

#ifndef _WIN32
namespace {

struct Started {
    Starting starting;
    void* (*run)(void*);
    void* data;
};

void* run_started(void* argument) {
    const std::unique_ptr<Started> started(static_cast<Started*>(argument));
    started->starting.began(started->starting.context);
    return started->run(started->data);
}

} // namespace

// ggml-cpu.c calls this function instead of pthread_create(), whose success ggml-cpu.c asserts.
extern "C" int
sotto_create_thread(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*), void* data) {
    std::unique_ptr<Started> started;
    if (starting.began != nullptr) {
        started = std::make_unique<Started>(Started{starting, run, data});
        run = run_started;
        data = started.get();
    }
    if (const int failed = pthread_create(thread, attributes, run, data); failed != 0) {
        refuse_thread({failed, std::generic_category()});
    }
    static_cast<void>(started.release()); // run_started() frees it
    return 0;
}
#endif

} // namespace sotto::llama
