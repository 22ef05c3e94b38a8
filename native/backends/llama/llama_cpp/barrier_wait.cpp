// Lets graph threads wait for each other without keeping cores from a game.
//
// ggml's threads spin at a barrier after each tensor, which is best while each thread has a core. Beside a
// game, a thread may lose its core to the game for milliseconds while the other threads spin. Here, threads
// of the idle class release their core after some microseconds: first by yielding to a thread on the same
// core, which may be the awaited one; then by short sleeps, because the system moves a runnable thread to a
// core that becomes idle, and a sleeping one to an idle core when it wakes. So a step continues with as many
// cores as the game leaves, down to one, whichever they are.
//
// Measured with 4 streams of a 110 M model beside a game on 2 cores (AMD EPYC 7003, Linux 6.18), in prefill
// and decode tokens per second relative to a single thread: a game of one thread: spinning 0.9 (each thread
// on a core of its own), yielding 1.2, also sleeping 1.4; a game that keeps all cores busy for 60 % of the
// time: spinning 1.3, also sleeping 1.9.
#include "devices/cpu/cores.hpp"

#include <chrono>
#include <cstdint>

#if defined(__x86_64__)
#  include <immintrin.h>
#endif

namespace sotto::llama {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::microseconds;

constexpr microseconds kApart(2);   // polls of one wait are closer together than this
constexpr microseconds kSpin(5);    // mostly longer than the difference between threads that all have cores
constexpr microseconds kYield(500); // longer than a part of a tensor takes: the other thread has no core
constexpr microseconds kSleep(20);

struct Wait {
    Clock::time_point began;
    Clock::time_point last; // time of the last poll
    enum class Class : std::uint8_t { unknown, idle, other } thread_class = Class::unknown;
};

thread_local Wait current;

void relax() noexcept {
#if defined(__x86_64__)
    _mm_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield" ::: "memory");
#endif
}

} // namespace

// Called in each iteration of a loop in which a thread waits for other threads.
extern "C" void sotto_barrier_turn() {
    relax();
    if (current.thread_class == Wait::Class::unknown) {
        current.thread_class = is_of_idle_class() ? Wait::Class::idle : Wait::Class::other;
    }
    if (current.thread_class == Wait::Class::other) {
        return;
    }
    const auto now = Clock::now();
    if (now - current.last > kApart) {
        current.began = now;
    }
    current.last = now;
    if (now - current.began > kYield) {
        sleep_briefly(kSleep);
    } else if (now - current.began > kSpin) {
        yield_core();
    } else {
        return;
    }
    current.last = Clock::now();
}

} // namespace sotto::llama
