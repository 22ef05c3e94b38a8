// Paced delivery of tokens, on a clock that the test advances.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/manual_clock.hpp"

using namespace test;

namespace {

constexpr std::int64_t kStart = 5 * kSecond;
constexpr const char* kEndless = R"({"tokens": ["a"], "loop": true})";

std::size_t spoken(Game& game, sotto_request request) {
    game.drain();
    return said(game.of(request)).size(); // one letter per token
}

// Returns true if, without advancing the clock, exactly `tokens` tokens are delivered, now or soon.
bool comes_to(Game& game, sotto_request request, std::size_t tokens) {
    return game.until([&] { return spoken(game, request) >= tokens; }) && spoken(game, request) == tokens;
}

std::int64_t due(int token, double tps) {
    return kStart + static_cast<std::int64_t>(token * 1e9 / tps);
}

// Waits until the engine has generated tokens ahead of time.
void let_work(const Game& game) {
    sotto_stats stats = SOTTO_INIT(sotto_stats);
    std::uint64_t before = UINT64_MAX;
    for (int quiet = 0; quiet < 3;) {
        std::this_thread::sleep_for(std::chrono::milliseconds(2));
        REQUIRE(sotto_engine_stats(game.engine(), &stats) == SOTTO_OK);
        quiet = stats.completion_tokens == before ? quiet + 1 : 0;
        before = stats.completion_tokens;
    }
}

} // namespace

TEST_CASE("each token is delivered exactly when it is due") {
    for (const float tps : {10.0F, 3.0F, 29.97F}) {
        ManualClock clock(kStart);
        Game game(clock);
        game.have("npc", kEndless);
        const auto request = game.ask("npc", "hi", {.tps = tps});
        REQUIRE(comes_to(game, request, 1));
        for (int n = 1; n <= 12; ++n) {
            let_work(game);
            clock.advance(due(n, tps) - clock.now() - 1);
            let_work(game);
            REQUIRE(spoken(game, request) == static_cast<std::size_t>(n));
            clock.advance(1);
            REQUIRE(comes_to(game, request, static_cast<std::size_t>(n) + 1));
        }
    }
}

TEST_CASE("an answer that the host does not take keeps its schedule, and its slot is freed at the end") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", R"({"tokens": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], "streams": 1})");
    const auto silent = game.ask("npc", "hi", {.tps = 4});
    const auto next = game.ask("npc", "hi", {.flags = SOTTO_REQUEST_PRIVATE});
    REQUIRE(clock.rests());
    clock.advance(3 * kSecond);
    CHECK(said(game.finish_private(next)) == "abcdefghij");
    CHECK(said(game.of(silent)).empty());
}

TEST_CASE("only a few tokens are generated ahead of the pace") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", kEndless);
    const auto request = game.ask("npc", "hi", {.tps = 12});
    REQUIRE(comes_to(game, request, 1));
    REQUIRE(clock.rests());
    sotto_stats stats = SOTTO_INIT(sotto_stats);
    sotto_engine_stats(game.engine(), &stats);
    CHECK(stats.completion_tokens >= 2);
    CHECK(stats.completion_tokens <= 4); // the delivered token, and a quarter of a second ahead
    clock.advance(10 * kSecond);         // whether the host takes them or not
    REQUIRE(clock.rests());
    sotto_engine_stats(game.engine(), &stats);
    CHECK(stats.completion_tokens >= 121);
    CHECK(stats.completion_tokens <= 124);
    CHECK(stats.decoding == 1);
}

TEST_CASE("a new pace applies to a running answer without a burst or a pause") {
    ManualClock clock(kStart);
    Game game(clock, 1);
    game.have("npc", kEndless);
    const auto request = game.ask("npc", "hi");
    REQUIRE(comes_to(game, request, 1));
    let_work(game);
    sotto_engine_set_target_tps(game.engine(), 10);
    clock.advance(kSecond / 10 - 1);
    let_work(game);
    CHECK(spoken(game, request) == 1);
    clock.advance(1);
    REQUIRE(comes_to(game, request, 2));
    let_work(game);
    clock.advance(kSecond / 20);
    sotto_engine_set_target_tps(game.engine(), 100); // one token is overdue, not more
    REQUIRE(comes_to(game, request, 3));
    sotto_engine_set_target_tps(game.engine(), 0.5F);
    let_work(game);
    clock.advance(kSecond);
    let_work(game);
    CHECK(spoken(game, request) == 3);
}

TEST_CASE("without a pace tokens are delivered as generated, and a pace can be removed") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", R"({"tokens": ["a", "b", "c", "d", "e"]})");
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "abcde");
    sotto_engine_set_target_tps(game.engine(), 1);
    const auto request = game.ask("npc", "hi");
    REQUIRE(comes_to(game, request, 1));
    sotto_engine_set_target_tps(game.engine(), 0);
    CHECK(said(game.finish(request)) == "abcde");
}

TEST_CASE("a request's own pace overrides the engine's") {
    ManualClock clock(kStart);
    Game game(clock, 100);
    game.have("npc", kEndless);
    const auto request = game.ask("npc", "hi", {.tps = 2});
    REQUIRE(comes_to(game, request, 1));
    sotto_engine_set_target_tps(game.engine(), 50);
    let_work(game);
    clock.advance(kSecond / 50);
    let_work(game);
    CHECK(spoken(game, request) == 1);
    CHECK(sotto_engine_set_request_tps(game.engine(), request, 50) == SOTTO_OK);
    CHECK(game.until([&] { return spoken(game, request) == 2; }));
    CHECK(sotto_engine_set_request_tps(game.engine(), request + (1 << 16), 50) == SOTTO_ERROR_NOT_FOUND);
    CHECK(sotto_engine_set_request_tps(game.engine(), request, -1) == SOTTO_ERROR_ARGUMENT);
    CHECK(last_error() == "invalid tps '-1.000000': expected 0 or a positive number");
    CHECK(sotto_engine_set_request_tps(nullptr, request, 1) == SOTTO_ERROR_ARGUMENT);
}

TEST_CASE("each stream has its own schedule") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", kEndless);
    const auto slow = game.ask("npc", "hi", {.tps = 10});
    const auto fast = game.ask("npc", "hi", {.tps = 25});
    REQUIRE(comes_to(game, slow, 1));
    REQUIRE(comes_to(game, fast, 1));
    int told[2] = {1, 1};
    for (int i = 0; i < 40; ++i) {
        let_work(game);
        const auto next = std::min(due(told[0], 10), due(told[1], 25));
        clock.advance(next - clock.now());
        told[0] += due(told[0], 10) <= next;
        told[1] += due(told[1], 25) <= next;
        REQUIRE(comes_to(game, slow, static_cast<std::size_t>(told[0])));
        REQUIRE(comes_to(game, fast, static_cast<std::size_t>(told[1])));
    }
}

TEST_CASE("a token taken late does not shift the schedule") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", kEndless);
    const auto request = game.ask("npc", "hi", {.tps = 10});
    REQUIRE(comes_to(game, request, 1));
    for (int n = 1; n < 10; ++n) {
        let_work(game);
        clock.advance(due(n, 10) + 15 * kMillisecond - clock.now());
        REQUIRE(comes_to(game, request, static_cast<std::size_t>(n) + 1));
    }
    let_work(game);
    clock.advance(due(10, 10) - clock.now());
    REQUIRE(comes_to(game, request, 11));
}

TEST_CASE("a tiny pace is not treated as no pace") {
    ManualClock clock(kStart);
    Game game(clock);
    game.have("npc", R"({"tokens": ["a", "b"]})");
    const auto request = game.ask("npc", "hi", {.tps = 1e-30F});
    game.until_told(request, SOTTO_EVENT_TEXT);
    clock.advance(1000 * kSecond);
    let_work(game);
    CHECK(spoken(game, request) == 1);
}

TEST_CASE("a thread waiting for a paced request wakes when its next token is due") {
    Game game;
    game.have("npc", R"({"tokens": ["a", "b", "c"]})");
    const auto request = game.ask("npc", "hi", {.tps = 20, .flags = SOTTO_REQUEST_PRIVATE});
    const auto begin = std::chrono::steady_clock::now();
    const auto history = game.finish_private(request);
    const auto took = std::chrono::steady_clock::now() - begin;
    CHECK(said(history) == "abc");
    CHECK(took >= std::chrono::milliseconds(100));
    CHECK(took < std::chrono::milliseconds(1000));
}

TEST_CASE("a thread waiting for the queue wakes when an event is due") {
    Game game;
    game.have("npc", R"({"tokens": ["a", "b"]})");
    const auto request = game.ask("npc", "hi", {.tps = 10});
    game.until_told(request, SOTTO_EVENT_TEXT);
    const auto begin = std::chrono::steady_clock::now();
    REQUIRE(sotto_engine_wait_for_events(game.engine(), kPatience) == SOTTO_OK);
    game.drain();
    CHECK(said(game.of(request)) == "ab");
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::milliseconds(1000));
}
