// Speech comes at the pace that was asked for, exactly, on a clock that the test holds.
#include <algorithm>
#include <cstdint>
#include <string>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/manual_clock.hpp"

using namespace test;

namespace {

constexpr std::int64_t kStart = 5 * kSecond;
constexpr const char* kEndless = R"({"tokens": ["a"], "loop": true})";

std::size_t spoken(Game& game, sotto_request request) {
    game.drain();
    return said(game.of(request)).size(); // a letter a token
}

std::int64_t due(int token, double tps) {
    return kStart + static_cast<std::int64_t>(token * 1e9 / tps);
}

} // namespace

TEST_CASE("each token is told at its moment, and not a nanosecond before") {
    for (const float tps : {10.0F, 3.0F, 29.97F}) {
        ManualClock clock(kStart);
        Game game(clock);
        game.have("npc", kEndless);
        const auto request = game.ask("npc", "hi", {.tps = tps});
        for (int n = 1; n <= 12; ++n) {
            REQUIRE(clock.sleeps_until(due(n, tps)));
            REQUIRE(spoken(game, request) == static_cast<std::size_t>(n));
            clock.advance(due(n, tps) - clock.now() - 1);
            REQUIRE(clock.sleeps_until(due(n, tps)));
            REQUIRE(spoken(game, request) == static_cast<std::size_t>(n));
            clock.advance(1);
        }
    }
}

TEST_CASE("a new pace holds for speech under way, without a burst and without a pause") {
    ManualClock clock(kStart);
    Game game(clock, 1);
    game.have("npc", kEndless);
    const auto request = game.ask("npc", "hi");
    REQUIRE(clock.sleeps_until(kStart + kSecond));
    sotto_engine_set_target_tps(game.engine(), 10);
    REQUIRE(clock.sleeps_until(kStart + kSecond / 10));
    clock.advance(kSecond / 10);
    REQUIRE(clock.sleeps_until(kStart + 2 * kSecond / 10));
    CHECK(spoken(game, request) == 2);
    clock.advance(kSecond / 20);
    REQUIRE(clock.sleeps_until(kStart + 2 * kSecond / 10));
    sotto_engine_set_target_tps(game.engine(), 100); // its moment is past: one token, no more
    REQUIRE(clock.sleeps_until(kStart + 16 * kSecond / 100));
    CHECK(spoken(game, request) == 3);
    sotto_engine_set_target_tps(game.engine(), 0.5F);
    REQUIRE(clock.sleeps_until(kStart + 215 * kSecond / 100));
    CHECK(spoken(game, request) == 3);
}

TEST_CASE("without a pace speech comes as fast as it goes, and a pace can be taken away") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", R"({"tokens": ["a", "b", "c", "d", "e"]})");
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "abcde");
    sotto_engine_set_target_tps(game.engine(), 1);
    const auto request = game.ask("npc", "hi");
    REQUIRE(clock.sleeps_until(kStart + kSecond));
    CHECK(spoken(game, request) == 1);
    sotto_engine_set_target_tps(game.engine(), 0);
    CHECK(said(game.finish(request)) == "abcde");
}

TEST_CASE("a request's own pace is not the engine's to change") {
    ManualClock clock(kStart);
    Game game(clock, 100);
    game.have("npc", kEndless);
    const auto request = game.ask("npc", "hi", {.tps = 2});
    REQUIRE(clock.sleeps_until(kStart + kSecond / 2));
    sotto_engine_set_target_tps(game.engine(), 50);
    const auto other = game.ask("npc", "hi");
    REQUIRE(clock.sleeps_until(kStart + kSecond / 50));
    CHECK(spoken(game, request) == 1);
    CHECK(spoken(game, other) == 1);
}

TEST_CASE("each stream keeps to its own schedule") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", kEndless);
    const auto slow = game.ask("npc", "hi", {.tps = 10});
    REQUIRE(clock.sleeps_until(due(1, 10)));
    const auto fast = game.ask("npc", "hi", {.tps = 25});
    int told[2] = {1, 1};
    REQUIRE(clock.sleeps_until(due(1, 25)));
    for (int i = 0; i < 40; ++i) {
        const auto next = std::min(due(told[0], 10), due(told[1], 25));
        clock.advance(next - clock.now());
        told[0] += due(told[0], 10) <= next;
        told[1] += due(told[1], 25) <= next;
        REQUIRE(clock.sleeps_until(std::min(due(told[0], 10), due(told[1], 25))));
        REQUIRE(spoken(game, slow) == static_cast<std::size_t>(told[0]));
        REQUIRE(spoken(game, fast) == static_cast<std::size_t>(told[1]));
    }
}

TEST_CASE("a token that comes late does not move the schedule") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", kEndless);
    const auto request = game.ask("npc", "hi", {.tps = 10});
    for (int n = 1; n < 10; ++n) {
        REQUIRE(clock.sleeps_until(due(n, 10)));
        clock.advance(due(n, 10) + 90 * kMillisecond - clock.now());
    }
    REQUIRE(clock.sleeps_until(due(10, 10)));
    CHECK(spoken(game, request) == 10);
}

TEST_CASE("after a hitch nothing that was missed is made up for") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", kEndless);
    const auto request = game.ask("npc", "hi", {.tps = 10});
    REQUIRE(clock.sleeps_until(due(1, 10)));
    clock.advance(5 * kSecond);
    REQUIRE(clock.sleeps_until(clock.now() + kSecond / 10));
    CHECK(spoken(game, request) == 2);
}

TEST_CASE("a pace of next to nothing is not a pace of everything") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", R"({"tokens": ["a", "b"]})");
    const auto request = game.ask("npc", "hi", {.tps = 1e-30F});
    game.until_told(request, SOTTO_EVENT_TEXT);
    clock.advance(1000 * kSecond);
    REQUIRE(clock.sleeps_until(kStart + (1LL << 61)));
    CHECK(spoken(game, request) == 1);
}
