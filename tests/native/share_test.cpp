// How models get out of the way of frames that are missed.
#include "core/schedule/share.hpp"

#include <functional>
#include <random>

#include <doctest/doctest.h>

using sotto::Frame;
using sotto::Share;

namespace {

constexpr std::int64_t kPeriod = 16'666'667;
constexpr double kLeast = 0.05;

// So many frames, each missed as likely as `odds` says for the share of that moment. Returns how many were
// missed of the last half of them.
double run(Share& share, int frames, const std::function<double(double)>& odds) {
    std::mt19937 random(7);
    int missed = 0;
    for (int i = 0; i < frames; ++i) {
        const bool misses = static_cast<double>(random() % 10'000) < 10'000 * odds(share.now());
        missed += misses && i >= frames / 2 ? 1 : 0;
        share.frame({0, 1, kPeriod, misses}, kLeast);
    }
    return missed / (frames / 2.0);
}

} // namespace

TEST_CASE("a game that misses nothing leaves models all of their time") {
    Share share;
    run(share, 1000, [](double) { return 0.0; });
    CHECK(share.now() == 1);
}

TEST_CASE("a single late frame costs nothing") {
    Share share;
    for (int i = 0; i < 1000; ++i) {
        share.frame({0, 1, kPeriod, i % 200 == 0}, kLeast);
    }
    CHECK(share.now() == 1);
}

TEST_CASE("models take less until the frames are kept") {
    Share share;
    const auto missed = run(share, 20'000, [](double taken) { return taken > 0.5 ? 0.5 : 0.0; });
    CHECK(missed < 0.03);
    CHECK(share.now() > 0.1);
}

TEST_CASE("what the game misses by itself costs models nothing, in the end") {
    Share share;
    run(share, 5'000, [](double) { return 0.2; });
    double sum = 0;
    for (int i = 0; i < 50; ++i) {
        run(share, 60, [](double) { return 0.2; });
        sum += share.now() / 50;
    }
    CHECK(sum > 0.7);
}

TEST_CASE("models are never silenced altogether, and recover") {
    Share share;
    for (int i = 0; i < 100; ++i) {
        share.frame({0, 1, kPeriod, true}, kLeast);
        CHECK(share.now() > 0);
    }
    run(share, 2000, [](double) { return 0.0; });
    CHECK(share.now() == 1);
}

TEST_CASE("models keep the least that they are to have, whatever is missed") {
    Share share;
    for (int i = 0; i < 100; ++i) {
        share.frame({0, 1, kPeriod, true}, 0.75);
        CHECK(share.now() >= 0.75);
    }
}
