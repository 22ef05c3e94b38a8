// Streams whose backend waits for something outside of the engine.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "module/waker.hpp"
#include "support/game.hpp"

using namespace test;

namespace {

// A backend whose stream waits until `ready`, then says one word.
struct Waiting {
    std::atomic<bool> ready{false};
    std::atomic<int> steps{0};
    std::function<void(sotto_step_item&)> waits = [](sotto_step_item& item) { item.wait_ms = 50; };

    sotto_backend table() {
        auto table = SOTTO_INIT(sotto_backend);
        table.name = str("waiting");
        table.self = this;
        table.open =
            [](void* self, const sotto_model_source*, void** model, sotto_model_info* info, sotto_str*) {
                *model = self;
                info->streams = 4;
                info->capabilities = SOTTO_CAPABILITY_BATCHABLE;
                return sotto_status{SOTTO_OK};
            };
        table.close = [](void*, void*) {};
        table.stream_open =
            [](void* self, void*, const sotto_stream_desc*, void** stream, sotto_stream_info*, sotto_str*) {
                *stream = self;
                return sotto_status{SOTTO_OK};
            };
        table.stream_close = [](void*, void*, void*) {};
        table.step = [](void* self, void*, const sotto_step* step, sotto_str*) {
            auto& waiting = *static_cast<Waiting*>(self);
            ++waiting.steps;
            for (std::uint32_t i = 0; i < step->count; ++i) {
                auto& item = *step->items[i];
                if (!waiting.ready) {
                    waiting.waits(item);
                    continue;
                }
                item.text = str("word");
                item.generated = 1;
                item.finish = SOTTO_FINISH_STOP;
                item.prompt_tokens = 11;
                item.cached_tokens = 3;
                item.completion_tokens = 5;
            }
            return sotto_status{SOTTO_OK};
        };
        return table;
    }
};

} // namespace

TEST_CASE("a stream that waits is stepped when its time is over, and reports what the backend counted") {
    Waiting waiting;
    Game game(waiting.table());
    game.have("far");
    const auto request = game.ask("far", "hi");
    CHECK(game.until([&] { return waiting.steps >= 3; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    CHECK(waiting.steps <= 20); // at most every 50 ms: the engine does not spin
    CHECK(count(game.of(request), SOTTO_EVENT_REQUEST_DONE) == 0);
    waiting.ready = true;
    const auto& history = game.finish(request);
    CHECK(said(history) == "word");
    const auto& json = done(history).json;
    CHECK_MESSAGE(json.find("\"prompt_tokens\":11") != std::string::npos, json);
    CHECK_MESSAGE(json.find("\"completion_tokens\":5") != std::string::npos, json);
    CHECK_MESSAGE(json.find("\"cached_tokens\":3") != std::string::npos, json);
}

TEST_CASE("a stream that waits can be cancelled, and the engine can end") {
    Waiting waiting;
    waiting.waits = [](sotto_step_item& item) { item.wait_ms = 1'000; };
    Game game(waiting.table());
    game.have("far");
    const auto request = game.ask("far", "hi");
    CHECK(game.until([&] { return waiting.steps >= 1; }));
    game.cancel(request);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_CANCELLED);
    game.ask("far", "hi");
    CHECK(game.until([&] { return waiting.steps >= 2; }));
    const auto began = std::chrono::steady_clock::now();
    game.end();
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::milliseconds(500));
}

TEST_CASE("a wait that is too long, or beside progress, breaks the contract") {
    for (const auto& [waits, what] :
         std::initializer_list<std::pair<void (*)(sotto_step_item&), const char*>>{
             {[](sotto_step_item& item) { item.wait_ms = 1'001; }, "wait_ms '1001': expected at most 1000"},
             {[](sotto_step_item& item) {
                  item.wait_ms = 1;
                  item.generated = 1;
                  item.text = str("x");
              },
              "wait_ms is set in a step that made progress"},
         }) {
        Waiting waiting;
        waiting.waits = waits;
        Game game(waiting.table());
        game.have("far");
        const auto& told = done(game.finish(game.ask("far", "hi")));
        CHECK(told.status == SOTTO_ERROR_INFERENCE);
        CHECK_MESSAGE(told.error.find(what) != std::string::npos, told.error);
    }
}

TEST_CASE("wake-ups are counted, and notify the signal that is set") {
    sotto::Waker waker;
    sotto::Signal signal;
    waker.tell(&signal);
    const auto seen = signal.value();
    const auto before = waker.count();
    waker.wake();
    CHECK(waker.count() == before + 1);
    CHECK(signal.value() != seen);
    waker.tell(nullptr);
    waker.wake(); // counts, and notifies nothing
    CHECK(waker.count() == before + 2);
}
