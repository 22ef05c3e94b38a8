// Decides whether threads of the idle class get CPU time.
#include <chrono>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "core/schedule/idle_class.hpp"
#include "platform/clock.hpp"
#include "support/busy.hpp"
#include "support/game.hpp"

namespace {

using sotto::IdleClass;
using Verdict = IdleClass::Verdict;

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;
constexpr std::int64_t kNow = 100 * kSecond;

} // namespace

TEST_CASE("the idle class is used after a successful probe, as long as steps progress") {
    IdleClass idle;
    CHECK(idle.wants_probe(kNow));
    CHECK(idle.ask(kNow) == Verdict::wait);
    idle.probe_began(kNow);
    CHECK(idle.ask(kNow) == Verdict::wait);
    CHECK(idle.wake(kNow) <= kNow + 250 * kMillisecond);
    idle.probe_is(true, true, kNow + 5 * kMillisecond);
    CHECK(idle.ask(kNow + 5 * kMillisecond) == Verdict::use);
    CHECK(idle.runs_everywhere());
    auto now = kNow;
    for (int i = 0; i < 8; ++i) {
        now += kSecond / 2;
        CHECK(idle.ask(now) == Verdict::use);
        CHECK_FALSE(idle.wants_probe(now));
        idle.ran(now);
    }
    CHECK(idle.wants_probe(now + 2 * kSecond));
    CHECK(idle.ask(now + 2 * kSecond) == Verdict::wait);
}

TEST_CASE("a late probe blocks nobody, and the class is avoided until several probes in a row succeed") {
    IdleClass idle;
    auto now = kNow;
    int needed = 0;
    for (int i = 0; i < 4; ++i) {
        REQUIRE(idle.wants_probe(now));
        idle.probe_began(now);
        now = idle.wake(now);
        idle.probe_is(false, false, now);
        CHECK(idle.ask(now) == Verdict::avoid);
        idle.probe_is(true, true, now + 3 * kSecond); // at last
        CHECK(idle.ask(now + 3 * kSecond) == Verdict::avoid);
        now += 4 * kSecond;
        int passed = 0;
        for (; idle.ask(now) == Verdict::avoid && passed < 100; now += kSecond / 100) {
            if (idle.wants_probe(now)) {
                idle.probe_began(now);
                idle.probe_is(true, true, now + kMillisecond);
                ++passed;
            }
        }
        CHECK(passed >= 2);
        CHECK(passed <= 8);
        CHECK(passed >= needed);
        needed = passed;
        CHECK(idle.ask(now) == Verdict::use);
        now += 2 * kSecond;
    }
}

TEST_CASE("a late probe resets the count of successful ones") {
    IdleClass idle;
    idle.stood_still(kNow);
    auto now = kNow;
    for (int i = 0; i < 100; ++i) {
        now += kSecond / 10;
        if (idle.wants_probe(now)) {
            idle.probe_began(now);
            idle.probe_is(true, i % 2 == 0, now + kSecond);
            idle.probe_is(true, true, now + 2 * kSecond);
        }
        CHECK(idle.ask(now) == Verdict::avoid);
    }
}

TEST_CASE("a probe that never ends keeps the class avoided") {
    IdleClass idle;
    idle.probe_began(kNow);
    idle.probe_is(false, false, kNow + kSecond);
    for (int i = 0; i < 100; ++i) {
        CHECK(idle.ask(kNow + kSecond + i * kSecond) == Verdict::avoid);
        CHECK_FALSE(idle.wants_probe(kNow + kSecond + i * kSecond));
    }
}

TEST_CASE("if one core does not run the class, it is used except by threads that wait for each other") {
    IdleClass idle;
    idle.probe_began(kNow);
    idle.probe_is(true, false, kNow + 10 * kMillisecond);
    CHECK(idle.ask(kNow + 10 * kMillisecond) == Verdict::wait);
    idle.probe_is(true, false, kNow + kSecond);
    CHECK(idle.ask(kNow + kSecond) == Verdict::use);
    CHECK_FALSE(idle.runs_everywhere());
    CHECK(idle.ask(kNow + 10 * kSecond) == Verdict::use); // the probe is still waiting on that core
    idle.probe_is(true, true, kNow + 10 * kSecond);
    CHECK(idle.wants_probe(kNow + 10 * kSecond));
    idle.probe_began(kNow + 10 * kSecond);
    idle.probe_is(true, true, kNow + 10 * kSecond + kMillisecond);
    CHECK(idle.runs_everywhere());
}

TEST_CASE("after a stalled step the class is not probed for a second") {
    IdleClass idle;
    idle.probe_began(kNow);
    idle.probe_is(true, true, kNow);
    idle.stood_still(kNow);
    CHECK(idle.ask(kNow + kSecond / 2) == Verdict::avoid);
    CHECK_FALSE(idle.wants_probe(kNow + kSecond / 2));
    CHECK(idle.wants_probe(kNow + 2 * kSecond));
}

TEST_CASE("models are loaded while other threads use every core") {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    constexpr double kSoonMs = 4000;
#else
    constexpr double kSoonMs = 1000; // about 100 ms at a lower priority; seconds in the idle class
#endif
    auto desc = test::plain_desc();
    desc.mode = SOTTO_MODE_BALANCE;
    const test::BusyCores busy;
    std::vector<double> took;
    for (int i = 0; i < 5; ++i) {
        test::Game game(desc);
        const auto begin = std::chrono::steady_clock::now();
        game.have("npc", R"({"load_additions": 10000000})");
        const auto passed = std::chrono::steady_clock::now() - begin;
        took.push_back(std::chrono::duration<double, std::milli>(passed).count());
        MESSAGE("loaded within ", took.back(), " ms");
    }
    CHECK(test::median(took) < kSoonMs);
}
