// What the threads of a graph do while they wait for each other.
//
// ggml's threads spin at a barrier after each tensor, which is right while each has a core. Beside a game one
// of them has lost its core to the game for milliseconds, while the others spin on theirs. Here those of the
// idle class give up their core after some microseconds: first to a thread on the same core, as that may be
// the one that is waited for; then by short sleeps, since the system moves a waiting thread to a core that
// falls idle, and a sleeping one to an idle core when it wakes. So a step goes on with as many cores as the
// game leaves, down to one, whichever those are.
//
// Measured with 4 streams of a 110 M model beside a game on 2 cores (AMD EPYC 7003, Linux 6.18), in tokens of
// prompts and answers per second, as a part of those of one thread alone: a game of one thread: spinning 0.9
// (each thread on a core of its own), yielding 1.2, sleeping too 1.4; a game that keeps all cores busy for 60
// % of the time: spinning 1.3, sleeping too 1.9.
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

constexpr microseconds kApart(2);   // turns of one wait follow each other more closely
constexpr microseconds kSpin(5);    // longer than threads that all have cores are apart, mostly
constexpr microseconds kYield(500); // longer than a part of a tensor takes: the other has no core
constexpr microseconds kSleep(20);

struct Wait {
    Clock::time_point began;
    Clock::time_point last; // turn
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

// One turn of a loop in which a thread waits for others.
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
