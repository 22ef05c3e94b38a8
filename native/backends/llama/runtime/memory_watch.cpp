// Counts failed allocations of each thread.
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

// If the module links its C++ library statically, it has a new-handler of its own. If the module shares the
// library with the host, the handler that the host has set stays.
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
