#include "backends/onnx/threads.hpp"

#include <algorithm>

namespace sotto::onnx {

void* ThreadGroup::create(void* group, void (*work)(void*), void* argument) noexcept {
    auto& self = *static_cast<ThreadGroup*>(group);
    try {
        return new std::thread([&self, work, argument] {
            const SessionMemory::Scope counted(self.memory_);
            try {
                self.enter();
            } catch (...) { // no memory for the number: the thread keeps its class
            }
            work(argument);
            self.leave();
        });
    } catch (...) {
        return nullptr;
    }
}

void ThreadGroup::join(void* handle) noexcept {
    const std::unique_ptr<std::thread> thread(static_cast<std::thread*>(handle));
    if (thread != nullptr && thread->joinable()) {
        thread->join();
    }
}

void ThreadGroup::enter() {
    const std::lock_guard lock(mutex_);
    const auto number = threads::this_thread_number();
    numbers_.push_back(number);
    threads::set_thread_class(number, class_);
}

void ThreadGroup::leave() noexcept {
    const std::lock_guard lock(mutex_);
    std::erase(numbers_, threads::this_thread_number());
}

void ThreadGroup::set_class(sotto_thread_class thread_class) noexcept {
    const std::lock_guard lock(mutex_);
    if (class_ == thread_class) {
        return;
    }
    class_ = thread_class;
    for (const auto number : numbers_) {
        threads::set_thread_class(number, thread_class);
    }
}

} // namespace sotto::onnx
