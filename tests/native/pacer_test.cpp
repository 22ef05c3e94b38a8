// When tokens may be told.
#include "core/request/pacer.hpp"

#include <atomic>
#include <cmath>
#include <cstdint>
#include <vector>

#include <doctest/doctest.h>

using sotto::Pacer;

namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;
constexpr std::int64_t kYear = 365 * 86'400 * kSecond;
constexpr std::int64_t kStart = 7 * kSecond;
constexpr std::int64_t kUsual = 20 * kMillisecond;

// A pacer, whose tokens are all made long before they are due.
struct Speech {
    explicit Speech(float tps) : own(tps) {}

    std::int64_t due(std::int64_t made = kStart) const { return pacer.due(told + 1, made); }
    void tell(std::int64_t now, std::int64_t made = kStart) { pacer.tell(++told, made, now, kUsual); }

    std::atomic<float> own;
    std::atomic<float> everybodys{0};
    Pacer pacer{own, everybodys};
    std::uint32_t told = 0;
};

// When each of the next tokens is told by somebody who looks every `step`.
std::vector<std::int64_t> told_at(Speech& speech, std::int64_t& now, std::int64_t until, std::int64_t step) {
    std::vector<std::int64_t> moments;
    for (; now < until; now += step) {
        while (speech.due() <= now) {
            speech.tell(now);
            moments.push_back(now);
        }
    }
    return moments;
}

} // namespace

TEST_CASE("the first token is due at once, and the schedule begins with it") {
    Speech speech(10);
    CHECK(speech.due() < kStart);
    speech.tell(kStart + 3 * kSecond);
    CHECK(speech.due() == kStart + 3 * kSecond + 100 * kMillisecond);
    CHECK(speech.pacer.told() == 1);
    CHECK(speech.pacer.next() == speech.due());
}

TEST_CASE("token n is due n / rate seconds later, and rounding never adds up") {
    for (const float tps : {0.1F, 1.0F, 3.0F, 7.0F, 16.0F, 29.97F, 1000.0F}) {
        Speech speech(tps);
        speech.tell(kStart);
        for (int n = 1; n <= 10'000; ++n) {
            const double exact = n * 1e9 / static_cast<double>(tps);
            REQUIRE(std::abs(static_cast<double>(speech.due() - kStart) - exact) < 2);
            speech.tell(speech.due());
        }
    }
}

TEST_CASE("a token that is taken late does not move those after it") {
    Speech speech(10);
    speech.tell(kStart);
    for (int n = 1; n <= 50; ++n) {
        REQUIRE(speech.due() == kStart + n * 100 * kMillisecond);
        speech.tell(speech.due() + kUsual);
    }
}

TEST_CASE("who takes none for a while gets what was missed at twice the rate, until it has caught up") {
    Speech speech(10);
    auto now = kStart;
    told_at(speech, now, kStart + kSecond, kMillisecond);
    now += 500 * kMillisecond;
    const auto after = told_at(speech, now, now + 2 * kSecond, kMillisecond);
    for (std::size_t i = 1; i < after.size(); ++i) {
        REQUIRE(after[i] - after[i - 1] >= 50 * kMillisecond);
    }
    CHECK(after.back() - after.front() == doctest::Approx(1.95e9).epsilon(0.05));
    CHECK((after.back() - kStart) % (100 * kMillisecond) < 2 * kMillisecond); // on the schedule again
    CHECK(speech.told == 35);
}

TEST_CASE("a host that looks rarely gets every token that is due, at every look") {
    for (const float tps : {25.0F, 60.0F, 144.0F}) {
        Speech speech(tps);
        auto now = kStart;
        told_at(speech, now, kStart + 10 * kSecond, 18 * kMillisecond);
        CHECK(speech.told == doctest::Approx(tps * 10).epsilon(0.01));
    }
}

TEST_CASE("a token that was made more than a period late moves the schedule") {
    Speech speech(10);
    speech.tell(kStart);
    const auto slow = kStart + 150 * kMillisecond; // within a period of being due
    CHECK(speech.due(slow) == kStart + 100 * kMillisecond);
    speech.tell(slow, slow);
    const auto slower = kStart + 5 * kSecond;
    CHECK(speech.due(slower) == slower);
    speech.tell(slower, slower);
    CHECK(speech.due() == slower + 100 * kMillisecond);
}

TEST_CASE("a new rate counts from the last token, without a burst") {
    Speech speech(1);
    speech.tell(kStart);
    speech.own = 10;
    CHECK(speech.due() == kStart + 100 * kMillisecond);
    speech.tell(kStart + 100 * kMillisecond);
    speech.own = 2;
    CHECK(speech.due() == kStart + 600 * kMillisecond);
    speech.own = 100;
    CHECK(speech.due() == kStart + 110 * kMillisecond);
    speech.tell(kStart + 500 * kMillisecond); // it came long before
    CHECK(speech.due() == kStart + 510 * kMillisecond);
}

TEST_CASE("an answer without a rate of its own has everybody's") {
    Speech speech(0);
    speech.everybodys = 10;
    speech.tell(kStart);
    CHECK(speech.due() == kStart + 100 * kMillisecond);
    speech.everybodys = 20;
    CHECK(speech.due() == kStart + 50 * kMillisecond);
    speech.own = 5;
    CHECK(speech.due() == kStart + 200 * kMillisecond);
}

TEST_CASE("without a rate every token is due, and a rate that comes begins with the next") {
    Speech speech(0);
    for (int i = 0; i < 5; ++i) {
        CHECK(speech.due() < kStart);
        speech.tell(kStart + i);
    }
    speech.own = 10;
    speech.tell(kStart + kSecond);
    CHECK(speech.due() == kStart + kSecond + 100 * kMillisecond);
    speech.own = 0;
    CHECK(speech.due() < kStart);
}

TEST_CASE("tokens that were told together count as many") {
    Speech speech(10);
    speech.tell(kStart);
    CHECK(speech.pacer.due(4, kStart) == kStart + 300 * kMillisecond);
    CHECK(speech.pacer.due(1, kStart) <= kStart); // the end of an answer is no token
}

TEST_CASE("a pace slower than a token in a lifetime is slow, not fast") {
    for (const float tps : {1e-9F, 1e-10F, 1e-20F, 1.4e-45F}) {
        Speech speech(tps);
        speech.tell(kStart);
        CHECK(speech.due() > kStart + 10 * kYear);
        CHECK(speech.due(kStart + kSecond) > kStart + 10 * kYear);
        speech.own = speech.own * 2;
        CHECK(speech.due() > kStart + 10 * kYear);
    }
}

TEST_CASE("the fastest pace there is overflows nothing") {
    Speech speech(3.4e38F);
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(speech.due() <= kStart + 1);
        speech.tell(kStart + 1);
    }
}
