// Threads of ONNX Runtime, made by us so that they run in the scheduling class of the step.
#pragma once

#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <sotto/module.h>

#include "backends/onnx/memory.hpp"
#include "threads/thread_class.hpp"

namespace sotto::onnx {

// The threads of one session. Outlives the session.
class ThreadGroup {
public:
    explicit ThreadGroup(SessionMemory& memory) : memory_(memory) {}

    // Callbacks of SessionOptionsSetCustomCreateThreadFn() and SessionOptionsSetCustomJoinThreadFn(); `group`
    // is a ThreadGroup. create() returns null if the system has no thread left.
    static void* create(void* group, void (*work)(void*), void* argument) noexcept;
    static void join(void* handle) noexcept;

    // Registers the calling thread for set_class().
    void enter();
    void leave() noexcept;
    void set_class(sotto_thread_class thread_class) noexcept;

private:
    SessionMemory& memory_;
    std::mutex mutex_; // guards the members below
    std::vector<threads::ThreadNumber> numbers_;
    sotto_thread_class class_ = SOTTO_THREAD_NORMAL;
};

} // namespace sotto::onnx
