// Consistency of an engine's statistics.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"

using namespace test;

namespace {

sotto_stats stats_of(const Game& game) {
    auto stats = SOTTO_INIT(sotto_stats);
    REQUIRE(sotto_engine_stats(game.engine(), &stats) == SOTTO_OK);
    return stats;
}

} // namespace

TEST_CASE("a new engine reports zeros") {
    Game game;
    const auto stats = stats_of(game);
    CHECK(stats.live == 0);
    CHECK(stats.slices == 0);
    CHECK(stats.frames == 0);
    CHECK(stats.mode == SOTTO_MODE_PRIORITIZE_COMPUTE);
    CHECK(stats.struct_size == sizeof(sotto_stats));
}

TEST_CASE("tokens and requests are counted, by status") {
    Game game;
    game.have(
        "npc", R"({"tokens": ["a", "b", "c"], "prompt_tokens": 20, "cached_tokens": 5, "weights": 1000})"
    );
    game.have("endless", R"({"tokens": ["a"], "loop": true})");
    game.have("broken", R"({"tokens": ["a", "b"], "fail_at": 1})");
    for (int i = 0; i < 4; ++i) {
        game.finish(game.ask("npc", "hi"));
    }
    const auto endless = game.ask("endless", "hi");
    game.until_told(endless, SOTTO_EVENT_TEXT);
    game.cancel(endless);
    game.finish(endless);
    game.finish(game.ask("broken", "hi"));
    auto stats = stats_of(game);
    CHECK(game.until([&] {
        stats = stats_of(game);
        return stats.failed == 1;
    }));
    CHECK(stats.finished == 4 + 3); // including the loads
    CHECK(stats.cancelled == 1);
    CHECK(stats.cached_prompt_tokens == 20);
    CHECK(stats.prompt_tokens >= 60);
    CHECK(stats.completion_tokens >= 13);
    CHECK(stats.slices > 8);
    CHECK(stats.slice_ns > 0);
    CHECK(stats.tokens_per_s >= 12);
    CHECK(stats.bytes_in_use == 1000);
    CHECK(stats.waiting + stats.prefilling + stats.decoding + stats.parked == 0);
    CHECK(stats.ttft_mean_ms > 0);
}

TEST_CASE("the number of waiting requests and their waiting time are reported") {
    Game game;
    game.have("npc", R"({"tokens": ["a"], "loop": true, "streams": 2})");
    for (int i = 0; i < 5; ++i) {
        game.ask("npc", "hi");
    }
    auto stats = stats_of(game);
    CHECK(game.until([&] {
        stats = stats_of(game);
        return stats.waiting == 3 && stats.decoding == 2 && stats.queue_wait_max_ms > 1;
    }));
    CHECK(stats.live == 5);
    CHECK(stats.threads >= 1);
    CHECK(stats.share == 1);
}

TEST_CASE("statistics read at any time are consistent") {
    Game game;
    game.have("npc", R"({"tokens": ["a", "b"]})");
    std::atomic<bool> over{false};
    std::thread reader([&] {
        std::uint64_t before = 0;
        while (!over.load()) {
            const auto stats = stats_of(game);
            CHECK(stats.completion_tokens >= before);
            CHECK(stats.completion_tokens + 2 >= 2 * stats.finished); // loading a model generates no tokens
            before = stats.completion_tokens;
        }
    });
    for (int i = 0; i < 300; ++i) {
        game.finish(game.ask("npc", "hi"));
    }
    over = true;
    reader.join();
}

TEST_CASE("statistics are refused only without a valid struct_size") {
    Game game;
    sotto_stats stats{};
    CHECK(sotto_engine_stats(game.engine(), &stats) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_engine_stats(game.engine(), nullptr) == SOTTO_ERROR_ARGUMENT);
    stats.struct_size = sizeof stats;
    CHECK(sotto_engine_stats(nullptr, &stats) == SOTTO_ERROR_ARGUMENT);
    stats.struct_size = 8; // of an older caller: no more than that is written
    stats.live = 77;
    CHECK(sotto_engine_stats(game.engine(), &stats) == SOTTO_OK);
    CHECK(stats.live == 77);
}
