// An engine beside a game's frames: gates, duty cycle, and invalid frame reports.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "platform/thread.hpp"
#include "support/game.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

constexpr std::uint64_t kPeriod = 16'666'667;
constexpr std::uint64_t kMostGated = 60'000'000; // ns of a step at closed gates

sotto_engine_desc in_mode(sotto_mode mode, sotto_engine_flags flags = 0) {
    auto desc = plain_desc();
    desc.mode = mode;
    desc.flags = flags;
    desc.trace_capacity = 4096;
    return desc;
}

sotto_stats stats_of(const Game& game) {
    auto stats = SOTTO_INIT(sotto_stats);
    CHECK(sotto_engine_stats(game.engine(), &stats) == SOTTO_OK);
    return stats;
}

void begin_frame(sotto_engine* engine, std::uint32_t cores = 64, std::uint64_t period_ns = kPeriod) {
    auto frame = SOTTO_INIT(sotto_frame_begin_desc);
    frame.period_ns = period_ns;
    frame.busy_cores = cores;
    CHECK(sotto_engine_frame_begin(engine, &frame) == SOTTO_OK);
}

// Begins frames without ending them until `holds` returns true.
bool works_until(Game& game, const std::function<bool()>& holds) {
    return game.until([&] {
        begin_frame(game.engine());
        return holds();
    });
}

// Reports a frame with so long a period that it is never late, however busy the machine is.
void report(const Game& game, float busy_ms) {
    begin_frame(game.engine(), 1, 700'000'000);
    auto frame = SOTTO_INIT(sotto_frame_end_desc);
    frame.busy_ms = busy_ms;
    CHECK(sotto_engine_frame_end(game.engine(), &frame) == SOTTO_OK);
}

// Reports frames as missed if models computed meanwhile, and as on time if not, until the duty cycle drops.
bool cut_share(Game& game, const TappedBackend& backend, float below = 0.8F) {
    constexpr std::chrono::milliseconds kWork(3);
    constexpr std::uint64_t kShort = 1'000'000;
    constexpr std::uint64_t kLong = 700'000'000;
    bool computed = true;
    return game.until([&] {
        for (int i = 0; i < 4; ++i) {
            const auto before = backend.count(Point::step);
            begin_frame(game.engine(), 1, computed ? kShort : kLong);
            std::this_thread::sleep_for(kWork);
            CHECK(sotto_engine_frame_end(game.engine(), nullptr) == SOTTO_OK);
            computed = backend.count(Point::step) != before;
        }
        return stats_of(game).share < below;
    });
}

std::vector<sotto_slice> trace_of(sotto_engine* engine) {
    std::vector<sotto_slice> slices(4096);
    slices[0].struct_size = sizeof slices[0];
    std::uint32_t count = 0;
    REQUIRE(sotto_engine_read_trace(engine, slices.data(), 4096, &count) == SOTTO_OK);
    slices.resize(count);
    return slices;
}

} // namespace

TEST_CASE("a step waits at a closed gate while the game works, and the trace records it") {
    TappedBackend backend;
    Game game(in_mode(SOTTO_MODE_BALANCE, SOTTO_ENGINE_GATES), backend.table());
    game.have("npc", R"({"tokens": ["a", "b", "c"], "token_ms": 2})");
    begin_frame(game.engine());
    const auto request = game.ask("npc", "hi");
    REQUIRE(works_until(game, [&] { return backend.count(Point::step) == 1; }));
    const auto later = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    REQUIRE(works_until(game, [&] { return std::chrono::steady_clock::now() > later; }));
    const bool waited = said(game.of(request)).empty();
    CHECK(sotto_engine_frame_end(game.engine(), nullptr) == SOTTO_OK);
    CHECK(said(game.finish(request)) == "abc");
    REQUIRE(game.until([&] { return stats_of(game).gated_ns > 0; }));
    // The step may have continued if this thread got no core before the step had waited for its maximum.
    CHECK((waited || stats_of(game).gated_ns > kMostGated));
    bool gate = false;
    bool frame = false;
    for (const auto& slice : trace_of(game.engine())) {
        gate = gate || slice.kind == SOTTO_SLICE_GATE;
        frame = frame || slice.kind == SOTTO_SLICE_FRAME;
        CHECK(slice.end_ns >= slice.begin_ns);
    }
    CHECK(gate);
    CHECK(frame);
}

TEST_CASE("with compute priority, or with free cores, the gate stays open") {
    for (const auto mode : {SOTTO_MODE_PRIORITIZE_COMPUTE, SOTTO_MODE_PRIORITIZE_GRAPHICS}) {
        auto desc = in_mode(mode, SOTTO_ENGINE_GATES);
        sotto_threads one = SOTTO_INIT(sotto_threads);
        one.compute_threads = 1;
        desc.threads = &one;
        Game game(desc);
        game.have("npc", R"({"tokens": ["a", "b", "c"], "token_ms": 2})");
        begin_frame(game.engine(), mode == SOTTO_MODE_PRIORITIZE_COMPUTE ? 64 : 1);
        if (mode == SOTTO_MODE_PRIORITIZE_COMPUTE || sotto::usable_cores() > 1) {
            CHECK(said(game.finish(game.ask("npc", "hi"))) == "abc");
            CHECK(stats_of(game).gated_ns == 0);
        }
    }
}

TEST_CASE("a game that never ends its frame does not stop decoding") {
    Game game(in_mode(SOTTO_MODE_BALANCE, SOTTO_ENGINE_GATES));
    game.have("npc", R"({"tokens": ["a", "b", "c"], "token_ms": 2})");
    begin_frame(game.engine());
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "abc");
}

TEST_CASE("cancelling opens the gate for a waiting step") {
    TappedBackend backend;
    Game game(in_mode(SOTTO_MODE_BALANCE, SOTTO_ENGINE_GATES), backend.table());
    game.have("npc", R"({"tokens": ["a"], "loop": true, "token_ms": 5})");
    begin_frame(game.engine());
    const auto request = game.ask("npc", "hi");
    REQUIRE(works_until(game, [&] { return backend.count(Point::step) > 0; }));
    game.cancel(request);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_CANCELLED);
    CHECK(works_until(game, [&] { // the step has ended too
        return backend.count(Point::stepped) == backend.count(Point::step);
    }));
}

TEST_CASE("missed frames cut the duty cycle, and frames on time restore it") {
    TappedBackend backend;
    Game game(in_mode(SOTTO_MODE_BALANCE), backend.table());
    game.have("npc", R"({"tokens": ["a"], "loop": true, "token_ms": 1})");
    const auto request = game.ask("npc", "hi");
    game.until_told(request, SOTTO_EVENT_TEXT);
    REQUIRE(cut_share(game, backend));
    CHECK(game.until([&] {
        for (int i = 0; i < 50; ++i) {
            report(game, 8);
        }
        return stats_of(game).share == 1.0F;
    }));
    const auto stats = stats_of(game);
    CHECK(stats.frames_missed >= 6);
    CHECK(stats.frames > stats.frames_missed);
    CHECK(stats.frame_p50_ms == doctest::Approx(8).epsilon(0.01));
}

TEST_CASE("steps that cannot be aborted get a smaller duty cycle than steps that yield") {
    TappedBackend backend;
    Game game(in_mode(SOTTO_MODE_BALANCE), backend.table());
    game.have("npc", R"({"tokens": ["a"], "loop": true, "token_ms": 1, "abortable": false})");
    const auto request = game.ask("npc", "hi");
    game.until_told(request, SOTTO_EVENT_TEXT);
    // in this mode, models whose threads yield keep a duty cycle of 0.75
    CHECK(cut_share(game, backend, 0.7F));
}

TEST_CASE("prompts are prefilled even at a low duty cycle with no stream decoding") {
    auto desc = in_mode(SOTTO_MODE_BALANCE);
    // with a trace, the control thread wakes for frames and could continue by chance
    desc.trace_capacity = 0;
    TappedBackend backend;
    Game game(desc, backend.table());
    game.have(
        "npc", R"({"tokens": ["a"], "prompt_tokens": 20000, "prompt_token_ms": 0.1, "step_tokens": 16})"
    );
    const auto request = game.ask("npc", "hi");
    game.until_told(request, SOTTO_EVENT_ACCEPTED);
    REQUIRE(cut_share(game, backend)); // paused from here on
    CHECK(game.until([&] {
        report(game, 8);
        return count(game.of(request), SOTTO_EVENT_REQUEST_DONE) == 1;
    }));
    CHECK(said(game.of(request)) == "a");
}

TEST_CASE("decoding continues whatever frames a host reports") {
    Game game(in_mode(SOTTO_MODE_PRIORITIZE_GRAPHICS));
    game.have("npc", R"({"tokens": ["a"], "loop": true})");
    const auto request = game.ask("npc", "hi");
    auto* engine = game.engine();
    auto begin = SOTTO_INIT(sotto_frame_begin_desc);
    auto end = SOTTO_INIT(sotto_frame_end_desc);
    const auto report = [&](std::uint64_t time, std::uint64_t period, bool begins) {
        begin.time_ns = end.time_ns = time;
        begin.period_ns = period;
        CHECK(
            (begins ? sotto_engine_frame_begin(engine, &begin) : sotto_engine_frame_end(engine, &end)) ==
            SOTTO_OK
        );
    };
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) { // from two threads
        threads.emplace_back([engine] {
            for (int i = 0; i < 500; ++i) {
                sotto_engine_frame_begin(engine, nullptr);
                sotto_engine_frame_end(engine, nullptr);
            }
        });
    }
    for (std::uint64_t i = 0; i < 200; ++i) {
        report(INT64_MAX, kPeriod, i % 2 == 0);            // from the future
        report(1'000'000 - i, kPeriod, i % 3 == 0);        // a clock that goes back
        report(0, i % 2 == 0 ? 0 : 100'000'000'000, true); // no period, and one of 100 s
        report(0, 100'000, true);                          // 10,000 Hz, doubled
        report(0, 100'000, false);
        report(0, 100'000, false);
    }
    for (auto& thread : threads) {
        thread.join();
    }
    const auto before = said(game.of(request)).size();
    CHECK(game.until([&] { return said(game.of(request)).size() > before + 10; }));
    for (const float busy : {-1.0F, std::numeric_limits<float>::quiet_NaN(), INFINITY}) {
        end.busy_ms = busy;
        CHECK(sotto_engine_frame_end(engine, &end) == SOTTO_ERROR_ARGUMENT);
    }
    for (const float tps : {-1.0F, std::numeric_limits<float>::quiet_NaN(), INFINITY}) {
        CHECK(sotto_engine_set_target_tps(engine, tps) == SOTTO_ERROR_ARGUMENT);
        CHECK(sotto_engine_set_request_tps(engine, request, tps) == SOTTO_ERROR_ARGUMENT);
    }
    CHECK(sotto_engine_set_target_tps(engine, 3.4e38F) == SOTTO_OK); // absurd, and harmless
}
