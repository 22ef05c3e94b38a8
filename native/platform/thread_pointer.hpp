// A per-thread pointer whose target outlives the thread's thread_local objects.
#pragma once

#include <cstdint>

namespace sotto {

// The destructor runs at thread exit, after the destructors of all thread_local objects, and never on the
// thread that calls exit(): destructors of static objects and atexit handlers can still use the pointer.
// Reading and writing never allocate. A thread_local variable of a library that was loaded with dlopen() does
// allocate, and glibc aborts the process if that fails.
//
// Must be a static object that is never destroyed.
class ThreadPointer {
public:
    using Destructor = void (*)(void* value);

    // Maximum number of calls of a destructor that sets the pointer again.
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
