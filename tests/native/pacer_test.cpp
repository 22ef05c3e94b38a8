// Due times of tokens.
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

// A pacer whose tokens are all generated long before they are due.
struct Speech {
    explicit Speech(float tps) : own(tps) {}

    std::int64_t due(std::int64_t made = kStart) const { return pacer.due(told + 1, made); }
    void tell(std::int64_t now, std::int64_t made = kStart) { pacer.tell(++told, made, now, kUsual); }

    std::atomic<float> own;
    std::atomic<float> everybodys{0};
    Pacer pacer{own, everybodys};
    std::uint32_t told = 0;
};

// Times at which a host that polls every `step` gets the next tokens.
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

TEST_CASE("the first token is due at once and starts the schedule") {
    Speech speech(10);
    CHECK(speech.due() < kStart);
    speech.tell(kStart + 3 * kSecond);
    CHECK(speech.due() == kStart + 3 * kSecond + 100 * kMillisecond);
    CHECK(speech.pacer.told() == 1);
    CHECK(speech.pacer.next() == speech.due());
}

TEST_CASE("token n is due n / rate seconds later, without accumulated rounding") {
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

TEST_CASE("a token taken late does not delay later ones") {
    Speech speech(10);
    speech.tell(kStart);
    for (int n = 1; n <= 50; ++n) {
        REQUIRE(speech.due() == kStart + n * 100 * kMillisecond);
        speech.tell(speech.due() + kUsual);
    }
}

TEST_CASE("after a pause of the host, the backlog is due at twice the rate until it is caught up") {
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

TEST_CASE("a host that polls rarely gets every due token at each poll") {
    for (const float tps : {25.0F, 60.0F, 144.0F}) {
        Speech speech(tps);
        auto now = kStart;
        told_at(speech, now, kStart + 10 * kSecond, 18 * kMillisecond);
        CHECK(speech.told == doctest::Approx(tps * 10).epsilon(0.01));
    }
}

TEST_CASE("a token generated more than a period late shifts the schedule") {
    Speech speech(10);
    speech.tell(kStart);
    const auto slow = kStart + 150 * kMillisecond; // less than a period late
    CHECK(speech.due(slow) == kStart + 100 * kMillisecond);
    speech.tell(slow, slow);
    const auto slower = kStart + 5 * kSecond;
    CHECK(speech.due(slower) == slower);
    speech.tell(slower, slower);
    CHECK(speech.due() == slower + 100 * kMillisecond);
}

TEST_CASE("a new rate applies from the last token on, without a burst") {
    Speech speech(1);
    speech.tell(kStart);
    speech.own = 10;
    CHECK(speech.due() == kStart + 100 * kMillisecond);
    speech.tell(kStart + 100 * kMillisecond);
    speech.own = 2;
    CHECK(speech.due() == kStart + 600 * kMillisecond);
    speech.own = 100;
    CHECK(speech.due() == kStart + 110 * kMillisecond);
    speech.tell(kStart + 500 * kMillisecond); // generated long before
    CHECK(speech.due() == kStart + 510 * kMillisecond);
}

TEST_CASE("an answer without its own rate uses the engine's") {
    Speech speech(0);
    speech.everybodys = 10;
    speech.tell(kStart);
    CHECK(speech.due() == kStart + 100 * kMillisecond);
    speech.everybodys = 20;
    CHECK(speech.due() == kStart + 50 * kMillisecond);
    speech.own = 5;
    CHECK(speech.due() == kStart + 200 * kMillisecond);
}

TEST_CASE("without a rate every token is due, and a new rate starts with the next token") {
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

TEST_CASE("tokens delivered together count separately") {
    Speech speech(10);
    speech.tell(kStart);
    CHECK(speech.pacer.due(4, kStart) == kStart + 300 * kMillisecond);
    CHECK(speech.pacer.due(1, kStart) <= kStart); // the end of an answer is not a token
}

TEST_CASE("a pace slower than a token per lifetime is slow, not fast") {
    for (const float tps : {1e-9F, 1e-10F, 1e-20F, 1.4e-45F}) {
        Speech speech(tps);
        speech.tell(kStart);
        CHECK(speech.due() > kStart + 10 * kYear);
        CHECK(speech.due(kStart + kSecond) > kStart + 10 * kYear);
        speech.own = speech.own * 2;
        CHECK(speech.due() > kStart + 10 * kYear);
    }
}

TEST_CASE("the highest pace does not overflow") {
    Speech speech(3.4e38F);
    for (int i = 0; i < 1000; ++i) {
        REQUIRE(speech.due() <= kStart + 1);
        speech.tell(kStart + 1);
    }
}
