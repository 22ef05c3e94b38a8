#include "platform/process.hpp"

#include <pthread.h>

namespace sotto {
namespace {

std::atomic<unsigned> g_generation{0};

void on_fork() {
    g_generation.fetch_add(1, std::memory_order_relaxed); // in the child, which has one thread
}

[[maybe_unused]] const int g_registered = pthread_atfork(nullptr, nullptr, on_fork);

} // namespace

unsigned process_generation() noexcept {
    return g_generation.load(std::memory_order_relaxed);
}

} // namespace sotto
