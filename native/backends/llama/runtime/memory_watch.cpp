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

// The module links its C++ library statically and so has a new-handler of its own. If the library is shared
// with the host, the host's handler stays.
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
