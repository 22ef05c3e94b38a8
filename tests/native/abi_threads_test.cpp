// Concurrent calls from several threads.
#include <atomic>
#include <cstdint>
#include <set>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "text/json_reader.hpp"

using namespace test;

TEST_CASE("frames can be reported from several threads concurrently") {
    Game game;
    std::vector<std::thread> threads;
    constexpr int kThreads = 4;
    constexpr int kFrames = 5000;
    for (int i = 0; i < kThreads; ++i) {
        threads.emplace_back([&] {
            for (int frame = 0; frame < kFrames; ++frame) {
                sotto_engine_frame_begin(game.engine(), nullptr);
                sotto_engine_frame_end(game.engine(), nullptr);
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    sotto_str json{};
    REQUIRE(sotto_engine_describe(game.engine(), &json) == SOTTO_OK);
    const auto frames = sotto::Json::parse(text_of(json))["frames"];
    CHECK(frames["begun"] == kThreads * kFrames);
    CHECK(frames["ended"] == kThreads * kFrames);
}

TEST_CASE("threads that take events concurrently each get some, and no event is delivered twice") {
    constexpr std::size_t kRequests = 3000;
    Game game;
    std::atomic<std::size_t> taken{0};
    std::vector<std::set<std::uint64_t>> seen(4);
    std::vector<std::thread> threads;
    for (auto& mine : seen) {
        threads.emplace_back([&] {
            auto event = SOTTO_INIT(sotto_event);
            while (taken.load() < kRequests) {
                if (sotto_engine_next_event(game.engine(), &event) == SOTTO_OK) {
                    mine.insert(event.user);
                    ++taken;
                } else {
                    std::this_thread::yield();
                }
            }
        });
    }
    for (std::size_t i = 0; i < kRequests; ++i) {
        game.submit("{}", {.user = i}); // an invalid body ends at once, with one event
    }
    for (auto& thread : threads) {
        thread.join();
    }
    std::set<std::uint64_t> all;
    for (const auto& mine : seen) {
        all.insert(mine.begin(), mine.end());
    }
    CHECK(all.size() == kRequests);
}
