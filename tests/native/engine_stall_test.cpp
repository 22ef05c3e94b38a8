// Backend calls that do not return are logged with the backend, the function and the model.
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/manual_clock.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

constexpr std::int64_t kStart = kSecond;

// An engine with a manual clock and recorded warnings, whose backend's calls can be blocked.
struct Stalled {
    explicit Stalled(Point at) : held(at), game(options(), held.backend.table()) {}

    sotto::EngineOptions options() {
        sotto_log_sink sink{};
        sink.struct_size = sizeof sink;
        sink.self = this;
        sink.write = [](void* self, sotto_log_level level, sotto_str line) {
            auto& stalled = *static_cast<Stalled*>(self);
            const std::lock_guard lock(stalled.mutex);
            if (level == SOTTO_LOG_WARN) {
                stalled.lines.push_back(text_of(line));
            }
        };
        sotto::EngineOptions made;
        made.clock = &clock;
        made.hooks.log = sotto::Log(sink);
        return made;
    }

    std::vector<std::string> warnings() {
        const std::lock_guard lock(mutex);
        return lines;
    }

    // Advances the clock to a time that the engine waits for. Returns the next warning.
    std::string warns_at(std::int64_t moment) {
        CHECK(clock.sleeps_until(moment));
        const auto before = warnings().size();
        clock.advance(moment - clock.now());
        for (int i = 0; i < kPatience && warnings().size() == before; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return warnings().size() == before ? "no warning" : warnings().back();
    }

    ManualClock clock{kStart};
    std::mutex mutex; // guards lines
    std::vector<std::string> lines;
    Held held;
    Game game;
};

} // namespace

TEST_CASE("a step that does not return is logged every 10 seconds, and its answer continues afterwards") {
    Stalled stalled(Point::step);
    auto& held = stalled.held;
    auto& game = stalled.game;
    game.have("npc", R"({"tokens": ["a"]})");
    held.gate.shut();
    const auto request = game.ask("npc", "hi");
    REQUIRE(held.gate.holds());
    stalled.clock.advance(9 * kSecond);
    const std::string what = "backend 'scripted' has not returned from step() for model 'npc' for ";
    CHECK(stalled.warnings().empty());
    CHECK(stalled.warns_at(kStart + 10 * kSecond) == what + "10 s; the engine's other models wait for it");
    CHECK(stalled.warns_at(kStart + 20 * kSecond) == what + "20 s; the engine's other models wait for it");
    held.gate.open();
    CHECK(said(game.finish(request)) == "a");
    CHECK(stalled.warnings().size() == 2);
}

TEST_CASE("an engine that waits for a backend during its destruction logs it every 2 seconds") {
    const std::vector<std::pair<Point, std::string>> calls = {
        {Point::step, "step()"}, {Point::open, "stream_open()"}, {Point::load, "open() or close()"}
    };
    for (const auto& [point, function] : calls) {
        CAPTURE(function);
        Stalled stalled(point);
        auto& held = stalled.held;
        auto& game = stalled.game;
        if (point == Point::load) {
            held.gate.shut();
            game.load("npc", "{}");
        } else {
            game.have("npc", R"({"tokens": ["a"], "loop": true, "abortable": false})");
            held.gate.shut();
            game.ask("npc", "hi");
        }
        REQUIRE(held.gate.holds());
        auto* engine = game.engine();
        std::thread ends([&] { sotto_engine_destroy(engine); });
        const auto what = "backend 'scripted' has not returned from " + function + " for model 'npc' for ";
        CHECK(stalled.warns_at(kStart + 2 * kSecond) == what + "2 s; sotto_engine_destroy() waits for it");
        CHECK(stalled.warns_at(kStart + 4 * kSecond) == what + "4 s; sotto_engine_destroy() waits for it");
        held.gate.open();
        ends.join();
    }
}
