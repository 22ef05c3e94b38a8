// Notifying and waiting.
#include "platform/signal.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "platform/clock.hpp"

namespace {

using std::chrono::steady_clock;

double milliseconds_of(const std::function<void()>& work) {
    const auto begin = steady_clock::now();
    work();
    return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

constexpr std::int64_t kMillisecond = 1'000'000;

} // namespace

TEST_CASE("a notify between value() and wait() is not lost") {
    sotto::Signal signal;
    const auto seen = signal.value();
    signal.notify();
    signal.wait(seen, -1); // must return, otherwise the test never ends
    CHECK(signal.value() != seen);
}

TEST_CASE("a wait ends at its timeout, not before") {
    sotto::Signal signal;
    const auto took = milliseconds_of([&] {
        auto& clock = sotto::system_clock();
        for (const auto end = clock.now() + 20 * kMillisecond; clock.now() < end;) {
            clock.wait(signal, signal.value(), end);
        }
    });
    CHECK(took >= 20);
    CHECK(milliseconds_of([&] { signal.wait(signal.value(), 0); }) < 1000);
}

TEST_CASE("a deadline in the past is not waited for") {
    sotto::Signal signal;
    auto& clock = sotto::system_clock();
    clock.wait(signal, signal.value(), INT64_MIN);
    clock.wait(signal, signal.value(), 0);
    clock.wait(signal, signal.value(), clock.now());
}

TEST_CASE("one notify wakes all waiting threads") {
    constexpr int kThreads = 8;
    sotto::Signal signal;
    std::atomic<bool> go{false};
    std::atomic<int> ready{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            ++ready;
            for (;;) {
                const auto seen = signal.value();
                if (go.load()) {
                    return;
                }
                signal.wait(seen, -1);
            }
        });
    }
    while (ready.load() < kThreads) {
        std::this_thread::yield();
    }
    go = true;
    signal.notify();
    for (auto& thread : threads) {
        thread.join();
    }
}

TEST_CASE("two threads that take turns never miss a notify") {
    constexpr int kTurns = 20'000;
    sotto::Signal signals[2];
    std::atomic<int> turn{0};
    const auto play = [&](int me) {
        for (int mine = me; mine < kTurns; mine += 2) {
            for (;;) {
                const auto seen = signals[me].value();
                if (turn.load() == mine) {
                    break;
                }
                signals[me].wait(seen, -1);
            }
            turn = mine + 1;
            signals[1 - me].notify();
        }
    };
    std::thread other([&] { play(1); });
    play(0);
    other.join();
    CHECK(turn.load() == kTurns);
}
