// The cost of a decision and of a step does not grow with the number of waiting requests.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/scheduled.hpp"

using namespace test;

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kFew = 10;
constexpr int kMany = 20'000;
constexpr double kRatio = 3;
constexpr int kAttempts = 5; // the machine may be busy for a moment

double nanoseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::nano>(Clock::now() - begin).count();
}

// Minimum time of several rounds of decisions with `waiting` streams waiting.
double cost_of_decisions(int waiting) {
    World world;
    auto& model = world.model({.streams = 4, .parks = true});
    for (int i = 0; i < 4; ++i) {
        world.speaker(model, {.priority = SOTTO_PRIORITY_FOREGROUND});
    }
    for (int i = 0; i < waiting; ++i) {
        world.stream(model, 10, {.priority = i % 2 == 0 ? SOTTO_PRIORITY_NORMAL : SOTTO_PRIORITY_BACKGROUND});
    }
    auto cheapest = std::numeric_limits<double>::max();
    for (int round = 0; round < 20; ++round) {
        const auto begin = Clock::now();
        for (int i = 0; i < 20; ++i) {
            world.scheduler.look();
            const auto slice = world.scheduler.next(kNow, kLimits);
            CHECK(slice.shares.size() == 4);
            (void)world.scheduler.goes_on(kNow);
            (void)world.scheduler.wake(kNow);
            (void)world.scheduler.counts(kNow);
        }
        cheapest = std::min(cheapest, nanoseconds_since(begin));
    }
    return cheapest;
}

// Minimum time per token of a decoding stream, over several stretches.
double cost_of_tokens(int waiting) {
    constexpr std::uint32_t kTokens = 2000;
    Game game;
    game.have("npc", R"({"tokens": ["a"], "loop": true, "streams": 1})");
    const auto speaker = game.ask("npc", "hi", {.priority = SOTTO_PRIORITY_FOREGROUND});
    game.until_told(speaker, SOTTO_EVENT_TEXT);
    for (int i = 0; i < waiting; ++i) {
        game.ask("npc", "hi", {.priority = SOTTO_PRIORITY_BACKGROUND});
    }
    auto stats = SOTTO_INIT(sotto_stats);
    const auto look = [&] {
        sotto_engine_stats(game.engine(), &stats);
        return stats.completion_tokens;
    };
    game.until([&] {
        look();
        return stats.waiting == static_cast<std::uint32_t>(waiting);
    });
    auto cheapest = std::numeric_limits<double>::max();
    for (int round = 0; round < 5; ++round) {
        const auto from = look();
        const auto begin = Clock::now();
        game.until([&] { return look() >= from + kTokens; });
        cheapest = std::min(cheapest, nanoseconds_since(begin) / static_cast<double>(look() - from));
    }
    return cheapest;
}

bool is_flat(double (*cost)(int)) {
    for (int i = 0; i < kAttempts; ++i) {
        const auto few = cost(kFew);
        const auto many = cost(kMany);
        MESSAGE("with ", kFew, " waiting ", few, " ns, with ", kMany, " waiting ", many, " ns");
        if (many < kRatio * few) {
            return true;
        }
    }
    return false;
}

} // namespace

TEST_CASE("a scheduling decision takes as long with 20,000 waiting streams as with ten") {
    CHECK(is_flat(cost_of_decisions));
}

TEST_CASE("decoding is as fast with 20,000 waiting requests as with ten") {
    CHECK(is_flat(cost_of_tokens));
}
