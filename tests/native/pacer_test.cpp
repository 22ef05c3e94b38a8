// When tokens are due.
#include "core/pacer.hpp"

#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using sotto::Pacer;

namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kYear = 365 * 86'400 * kSecond;
constexpr std::int64_t kStart = 7 * kSecond;

// The moments at which the next `count` tokens are due, each handed out `late` after it was.
std::vector<std::int64_t> speak(Pacer& pacer, int count, std::int64_t late = 0) {
    std::vector<std::int64_t> due;
    for (int i = 0; i < count; ++i) {
        due.push_back(pacer.due());
        pacer.spoke(due.back() + late);
    }
    return due;
}

Pacer begun(double tps) {
    Pacer pacer;
    pacer.set_rate(tps, kStart);
    pacer.spoke(kStart);
    return pacer;
}

} // namespace

TEST_CASE("the first token is due at once, and the schedule begins with it") {
    Pacer pacer;
    pacer.set_rate(10, kStart);
    CHECK(pacer.due() < kStart);
    pacer.spoke(kStart + 3 * kSecond);
    CHECK(pacer.due() == kStart + 3 * kSecond + 100 * kMillisecond);
}

TEST_CASE("token n is due n / rate seconds later, and rounding never adds up") {
    for (const double tps : {0.1, 1.0, 3.0, 7.0, 16.0, 29.97, 1000.0}) {
        auto pacer = begun(tps);
        const auto due = speak(pacer, 10'000);
        for (std::size_t n = 0; n < due.size(); ++n) {
            const double exact = static_cast<double>(n + 1) * 1e9 / tps;
            REQUIRE(std::abs(static_cast<double>(due[n] - kStart) - exact) < 2);
        }
    }
}

TEST_CASE("a token that comes late does not move those after it") {
    auto pacer = begun(10);
    const auto due = speak(pacer, 50, 90 * kMillisecond);
    for (std::size_t n = 0; n < due.size(); ++n) {
        REQUIRE(due[n] == kStart + static_cast<std::int64_t>(n + 1) * 100 * kMillisecond);
    }
}

TEST_CASE("who falls more than a period behind is not owed the difference") {
    auto pacer = begun(10);
    const auto hitch = kStart + 5 * kSecond;
    pacer.spoke(hitch);
    CHECK(pacer.due() == hitch + 100 * kMillisecond);
    CHECK(speak(pacer, 3).back() == hitch + 300 * kMillisecond);
}

TEST_CASE("after a hitch no more than two tokens come within a period") {
    auto pacer = begun(10);
    std::vector<std::int64_t> spoken;
    for (std::int64_t now = kStart; now < kStart + 20 * kSecond; now += kMillisecond) {
        const bool hitch = now / kSecond % 2 != 0 && now % kSecond < 730 * kMillisecond;
        if (!hitch && pacer.due() <= now) {
            pacer.spoke(now);
            spoken.push_back(now);
        }
    }
    for (std::size_t i = 2; i < spoken.size(); ++i) {
        REQUIRE(spoken[i] - spoken[i - 2] >= 100 * kMillisecond);
    }
}

TEST_CASE("a new rate counts from the last token, without a burst") {
    auto pacer = begun(1);
    pacer.set_rate(10, kStart + 30 * kMillisecond);
    CHECK(pacer.due() == kStart + 100 * kMillisecond);
    pacer.spoke(kStart + 100 * kMillisecond);
    pacer.set_rate(2, kStart + 150 * kMillisecond);
    CHECK(pacer.due() == kStart + 600 * kMillisecond);
    pacer.set_rate(100, kStart + 500 * kMillisecond);
    CHECK(pacer.due() == kStart + 110 * kMillisecond);
    pacer.spoke(kStart + 500 * kMillisecond);
    CHECK(pacer.due() == kStart + 510 * kMillisecond);
}

TEST_CASE("the same rate again changes nothing") {
    auto pacer = begun(3);
    speak(pacer, 5);
    const auto due = pacer.due();
    pacer.set_rate(3, due - 1);
    CHECK(pacer.due() == due);
}

TEST_CASE("without a rate every token is due, and a rate that comes begins then") {
    Pacer pacer;
    for (int i = 0; i < 5; ++i) {
        CHECK(pacer.due() < kStart);
        pacer.spoke(kStart + i);
    }
    pacer.set_rate(10, kStart + kSecond);
    CHECK(pacer.due() == kStart + kSecond + 100 * kMillisecond);
    pacer.set_rate(0, kStart + kSecond);
    CHECK(pacer.due() < kStart);
}

TEST_CASE("a rate before the first token makes no token late") {
    Pacer pacer;
    pacer.set_rate(10, kStart);
    pacer.set_rate(20, kStart + kSecond);
    CHECK(pacer.due() < kStart);
    pacer.spoke(kStart + 2 * kSecond);
    CHECK(pacer.due() == kStart + 2 * kSecond + 50 * kMillisecond);
}

TEST_CASE("a pace slower than a token in a lifetime is slow, not fast") {
    for (const double tps : {1e-9, 1e-10, 1e-20, 1.4e-45}) {
        auto pacer = begun(tps);
        CHECK(pacer.due() > kStart + 10 * kYear);
        pacer.spoke(kStart + kSecond);
        CHECK(pacer.due() > kStart + 10 * kYear);
        pacer.set_rate(tps * 2, kStart + kSecond);
        CHECK(pacer.due() > kStart + 10 * kYear);
    }
}

TEST_CASE("the fastest pace there is overflows nothing") {
    auto pacer = begun(3.4e38);
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(pacer.due() <= kStart + 1);
        pacer.spoke(kStart + 1);
    }
}
