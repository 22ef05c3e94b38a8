#include "llama_cpp/opening.hpp"

#include <chrono>
#include <new>
#include <thread>

namespace sotto::llama {
namespace {

void wait_for_memory() {
    static int tries = 0; // not atomic: one thread constructs all static objects
    constexpr int kAtOnce = 1000;
    constexpr int kMost = kAtOnce + 5000;
    if (++tries > kMost) {
        throw std::bad_alloc();
    }
    if (tries > kAtOnce) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
}

// Installs wait_for_memory(). Constructed before all other static objects of the module.
struct Opening {
    Opening() noexcept : before(std::set_new_handler(wait_for_memory)) {}
    std::new_handler before;
};
[[gnu::init_priority(101)]] Opening opening;

} // namespace

void end_opening() noexcept {
    if (std::get_new_handler() == wait_for_memory) {
        std::set_new_handler(opening.before);
    }
}

} // namespace sotto::llama
