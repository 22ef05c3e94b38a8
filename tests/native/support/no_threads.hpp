// Makes thread creation fail. Replaces pthread_create() for the whole program, so only one file of it may
// include this.
#pragma once

#include <atomic>
#include <cerrno>

#include <dlfcn.h>
#include <pthread.h>

namespace test {

inline std::atomic<bool> g_no_threads{false};

// No thread can be started during its lifetime.
class NoThreads {
public:
    NoThreads() { g_no_threads = true; }
    ~NoThreads() { g_no_threads = false; }
    NoThreads(const NoThreads&) = delete;
    NoThreads& operator=(const NoThreads&) = delete;
};

} // namespace test

extern "C" [[gnu::visibility("default")]] int pthread_create(
    pthread_t* thread, const pthread_attr_t* attributes, void* (*body)(void*), void* argument
) noexcept {
    using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
    static const auto create = reinterpret_cast<Create>(dlsym(RTLD_NEXT, "pthread_create"));
    return test::g_no_threads.load() ? EAGAIN : create(thread, attributes, body, argument);
}
