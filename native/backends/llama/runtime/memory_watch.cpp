// Counts the allocations that fail, for each thread.
#include "runtime/memory_watch.hpp"

#include <new>

namespace sotto::llama {
namespace {

thread_local unsigned failed = 0;

void on_failed_allocation() {
    ++failed;
    throw std::bad_alloc();
}

} // namespace

// The module's C++ library is part of it, and so is its handler. One that is shared with the host keeps what
// the host has set.
void note_failed_allocations() noexcept {
    if (std::get_new_handler() == nullptr) {
        std::set_new_handler(on_failed_allocation);
    }
}

MemoryWatch::MemoryWatch() noexcept : before_(failed) {}

void MemoryWatch::check() const {
    if (failed != before_) {
        throw std::bad_alloc();
    }
}

} // namespace sotto::llama
