// A per-thread pointer whose target outlives the thread's thread_local objects.
#pragma once

#include <cstdint>

namespace sotto {

// A pointer with one value per thread, and a function that destroys a thread's value when the thread exits.
// The function runs after the destructors of all thread_local objects, and never on the thread that calls
// exit(): destructors of static objects and atexit handlers can still use the pointer. Reading never
// allocates, and set() reports a failed allocation. A thread_local variable of a library that was loaded with
// dlopen() allocates on first use, and glibc aborts the process if that allocation fails.
//
// Must be a static object that is never destroyed.
class ThreadPointer {
public:
    using Destructor = void (*)(void* value);

    // Maximum number of times that the system calls a destructor that sets the pointer again, at a thread's
    // exit.
    static const int kRounds;

    // `destructor` must not throw. The system sets the pointer to NULL before the call, and does not call it
    // for NULL.
    explicit ThreadPointer(Destructor destructor) noexcept;
    ThreadPointer(const ThreadPointer&) = delete;
    ThreadPointer& operator=(const ThreadPointer&) = delete;

    void* get() const noexcept;
    // Returns false if the process has no free TLS key, or no memory to store the value.
    bool set(void* value) noexcept;

private:
    std::uint32_t key_ = 0;
    bool usable_ = false;
};

} // namespace sotto
