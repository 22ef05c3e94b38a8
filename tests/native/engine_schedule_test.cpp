// Order of requests, and preemption.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "platform/thread.hpp"
#include "support/game.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

constexpr const char* kTwoPlaces =
    R"({"tokens": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p"], "streams": 2,
        "token_ms": 3, "parkable": true, "unpark_tokens": 7})";

std::vector<std::string> order_of_ends(const Game& game) {
    std::vector<std::string> order;
    for (const auto& event : game.all()) {
        if (event.kind == SOTTO_EVENT_REQUEST_DONE && event.user != 0) {
            order.push_back(std::to_string(event.user));
        }
    }
    return order;
}

} // namespace

TEST_CASE("a request of the highest priority gets the next slice, and preempts if no slot is free") {
    Paused paused;
    const auto& backend = paused.backend;
    Game game(paused.backend.table());
    game.have("npc", kTwoPlaces);
    paused.pause_at(2);
    std::vector<sotto_request> crowd;
    for (int i = 0; i < 6; ++i) {
        crowd.push_back(game.ask("npc", "hi"));
    }
    REQUIRE(paused.holds());
    const auto player = game.ask("npc", "it is me", {.priority = SOTTO_PRIORITY_FOREGROUND});
    game.until_told(player, SOTTO_EVENT_ACCEPTED);
    paused.go_on();
    CHECK(said(game.finish(player)) == "abcdefghijklmnop");
    // next after the one that had a slot
    CHECK(backend.bodies().at(2).find("it is me") != std::string::npos);
    for (const auto request : crowd) {
        CHECK(said(game.finish(request)) == "abcdefghijklmnop"); // of the preempted request too
    }
    CHECK(backend.count(Point::park) == 1);
    CHECK(backend.count(Point::unpark) == 1);
    CHECK(backend.count(Point::open) == 7);
}

TEST_CASE("waiting requests are ordered by priority, then deadline") {
    Held held;
    Game game(held.backend.table());
    game.have("npc", R"({"tokens": ["a"], "streams": 1})");
    held.gate.shut();
    game.ask("npc", "hi");
    REQUIRE(held.gate.holds());
    sotto_request last = game.ask("npc", "hi", {.user = 5, .priority = SOTTO_PRIORITY_BACKGROUND});
    game.ask("npc", "hi", {.user = 4});
    game.ask("npc", "hi", {.user = 3, .deadline_ns = UINT64_MAX / 4});
    game.ask("npc", "hi", {.user = 2, .deadline_ns = 1}); // long past: the most urgent
    game.until_told(
        game.ask("npc", "hi", {.user = 1, .priority = SOTTO_PRIORITY_FOREGROUND}), SOTTO_EVENT_ACCEPTED
    );
    held.gate.open();
    game.finish(last);
    CHECK(order_of_ends(game) == std::vector<std::string>{"1", "2", "3", "4", "5"});
}

TEST_CASE("a preempted stream can be cancelled, unloaded, and fail to be restored") {
    for (const std::string how : {"cancel", "unload", "fail", "end"}) {
        Held held;
        Game game(held.backend.table());
        game.have(
            "npc",
            R"({"tokens": ["a"], "loop": true, "streams": 1, "parkable": true)" +
                std::string(how == "fail" ? R"(, "fail_unpark": "it is gone")" : "") + "}"
        );
        const auto first = game.ask("npc", "hi", {.priority = SOTTO_PRIORITY_BACKGROUND});
        game.until_told(first, SOTTO_EVENT_TEXT);
        const auto player = game.ask("npc", "hi", {.priority = SOTTO_PRIORITY_FOREGROUND});
        game.until_told(player, SOTTO_EVENT_TEXT);
        sotto_stats stats = SOTTO_INIT(sotto_stats);
        CHECK(game.until([&] {
            sotto_engine_stats(game.engine(), &stats);
            return stats.parked == 1;
        }));
        if (how == "end") {
            continue; // the engine is destroyed with a stream parked
        }
        if (how == "unload") {
            CHECK(done(game.finish(game.unload("npc"))).status == SOTTO_OK);
            CHECK(done(game.finish(first)).status == SOTTO_ERROR_CANCELLED);
            CHECK(held.backend.count(Point::close) == 2);
            continue;
        }
        game.cancel(how == "cancel" ? first : player);
        const auto& last = done(game.finish(first));
        CHECK(last.status == (how == "cancel" ? SOTTO_ERROR_CANCELLED : SOTTO_ERROR_INFERENCE));
        CHECK((how == "fail") == (last.error == "it is gone"));
        if (how == "fail") { // the model has all its slots again
            const auto next = game.ask("npc", "hi");
            game.until_told(next, SOTTO_EVENT_TEXT);
        }
    }
}

TEST_CASE("an invalid priority or deadline is refused") {
    Game game;
    game.have("npc");
    auto desc = SOTTO_INIT(sotto_request_desc);
    const auto body = chat("npc", "hi");
    desc.op = SOTTO_OP_CHAT;
    desc.body = str(body);
    sotto_request request = 1;
    for (const int priority : {-2, 2, INT32_MAX, INT32_MIN}) {
        desc.priority = priority;
        CHECK(sotto_engine_submit(game.engine(), &desc, &request) == SOTTO_ERROR_ARGUMENT);
        CHECK(request == 0);
        CHECK(
            last_error() == "invalid desc->priority '" + std::to_string(priority) +
                                "': expected one of the "
                                "SOTTO_PRIORITY_ values"
        );
    }
    desc.priority = 0;
    desc.deadline_ns = UINT64_MAX;
    CHECK(sotto_engine_submit(game.engine(), &desc, &request) == SOTTO_ERROR_ARGUMENT);
    CHECK(
        last_error() == "invalid desc->deadline_ns '18446744073709551615': expected a time of the monotonic "
                        "clock, or 0 for none"
    );
}

TEST_CASE("requests beyond the maximum are refused until some have ended") {
    auto desc = plain_desc();
    desc.max_requests = 3;
    Game game(desc);
    game.have("npc", R"({"tokens": ["a"], "loop": true})");
    std::vector<sotto_request> live;
    for (int i = 0; i < 3; ++i) {
        live.push_back(game.ask("npc", "hi"));
    }
    auto wish = SOTTO_INIT(sotto_request_desc);
    const auto body = chat("npc", "hi");
    wish.op = SOTTO_OP_CHAT;
    wish.body = str(body);
    sotto_request request = 0;
    CHECK(sotto_engine_submit(game.engine(), &wish, &request) == SOTTO_ERROR_BUSY);
    CHECK(last_error() == "3 requests are live, the maximum: take the events of some first");
    game.cancel(live[0]);
    game.finish(live[0]);
    CHECK(game.until([&] { return sotto_engine_submit(game.engine(), &wish, &request) == SOTTO_OK; }));
}

TEST_CASE("engines with invalid flags or numbers are refused") {
    sotto_engine* engine = nullptr;
    auto desc = plain_desc();
    desc.flags = 4;
    CHECK(sotto_engine_create(&desc, &engine) == SOTTO_ERROR_UNSUPPORTED);
    CHECK(last_error() == "invalid desc->flags '4': expected only bits of 3");
    desc.flags = 0;
    desc.max_requests = 65'537;
    CHECK(sotto_engine_create(&desc, &engine) == SOTTO_ERROR_ARGUMENT);
    CHECK(last_error() == "invalid desc->max_requests '65537': expected at most 65536");
    CHECK(engine == nullptr);
}

TEST_CASE("a model with long steps gets no more compute time than others") {
    Game game;
    game.have("slow", R"({"tokens": ["a"], "loop": true, "token_ms": 200})");
    game.have("fast", R"({"tokens": ["a"], "loop": true, "token_ms": 1})");
    const auto slow = game.ask("slow", "hi");
    const auto fast = game.ask("fast", "hi");
    game.until_told(slow, SOTTO_EVENT_TEXT, 4);
    CHECK(
        said(game.of(fast)).size() > 2 * said(game.of(slow)).size()
    ); // two hundred times, less the overhead of sleeping
}

TEST_CASE("a first step that stalls on several threads is repeated on fewer") {
    TappedBackend backend;
    std::atomic<int> given_up{0};
    backend.tap = [&](Point point, const sotto_step* step) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience);
        while (point == Point::step && step->threads > 1 && std::chrono::steady_clock::now() < end) {
            if (step->gate(step->context) != 0) {
                ++given_up;
                return;
            }
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    };
    auto desc = plain_desc();
    auto threads = SOTTO_INIT(sotto_threads);
    threads.compute_threads = 2;
    desc.threads = &threads;
    Game game(desc, backend.table());
    game.have("npc", R"({"tokens": ["a", "b", "c"]})");
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "abc");
    // again once step times are known, if the answer has not ended by then
    const bool several = sotto::usable_cores() > 1;
    CHECK(given_up.load() >= (several ? 1 : 0));
    CHECK(given_up.load() <= (several ? 2 : 0));
}

TEST_CASE("a deterministic engine computes each answer alone, with fixed prefill chunks") {
    for (const int crowd : {0, 5}) {
        TappedBackend backend;
        auto desc = plain_desc();
        desc.flags = SOTTO_ENGINE_DETERMINISTIC;
        Game game(desc, backend.table());
        game.have("npc", R"({"tokens": ["a", "b"], "prompt_tokens": 150, "prompt_token_ms": 0.01})");
        std::vector<sotto_request> all;
        for (int i = 0; i <= crowd; ++i) {
            all.push_back(game.ask("npc", "hi"));
        }
        for (const auto request : all) {
            CHECK(said(game.finish(request)) == "ab");
        }
        for (const auto& step : backend.steps()) {
            REQUIRE(step.tokens.size() == 1);
            CHECK(step.threads == backend.steps().front().threads);
            CHECK((step.tokens[0] == 0 || step.tokens[0] == 64 || step.tokens[0] == 22));
        }
        for (const auto flags : backend.opened()) {
            CHECK(flags == SOTTO_STREAM_ALONE);
        }
    }
}

TEST_CASE("a background request progresses beside foreground requests that never pause") {
    constexpr int kAsking = 6;
    constexpr std::size_t kMaxAnswers = 300; // foreground answers meanwhile; ten seconds allow 1,000
    Held held;
    Game game(held.backend.table());
    game.have(
        "npc",
        R"({"tokens": ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"], "streams": 2, "token_ms": 2, "parkable": true})"
    );
    const auto ask = [&] {
        return game.ask("npc", "hi", {.user = 1, .priority = SOTTO_PRIORITY_FOREGROUND});
    };
    std::vector<sotto_request> asking;
    for (int i = 0; i < kAsking; ++i) {
        asking.push_back(ask());
    }
    const auto gossip = game.ask("npc", "hi", {.priority = SOTTO_PRIORITY_BACKGROUND});
    std::size_t answers = 0;
    CHECK(game.until([&] {
        for (auto& request : asking) {
            if (count(game.of(request), SOTTO_EVENT_REQUEST_DONE) > 0) {
                ++answers;
                request = ask();
            }
        }
        return count(game.of(gossip), SOTTO_EVENT_REQUEST_DONE) > 0 || answers > kMaxAnswers;
    }));
    CHECK(said(game.finish(gossip)) == "abcdefghij");
    CHECK(answers <= kMaxAnswers);
    CHECK(held.backend.count(Point::park) == 0);
    MESSAGE("answered after ", answers, " answers of the foreground");
}

TEST_CASE("steps that cannot be aborted run in the normal thread class") {
    for (const bool abortable : {true, false}) {
        TappedBackend backend;
        auto desc = plain_desc();
        // steps that can be aborted run in the idle class, if that gets CPU time
        desc.mode = SOTTO_MODE_BALANCE;
        Game game(desc, backend.table());
        game.have(
            "npc", abortable ? R"({"tokens": ["a", "b"]})" : R"({"tokens": ["a", "b"], "abortable": false})"
        );
        CHECK(said(game.finish(game.ask("npc", "hi"))) == "ab");
        const auto steps = backend.steps();
        REQUIRE(steps.size() >= 2);
        const auto idle = std::count_if(steps.begin(), steps.end(), [](const auto& step) {
            return step.thread_class == SOTTO_THREAD_IDLE;
        });
        MESSAGE(
            std::string(abortable ? "abortable: " : "not abortable: "),
            idle,
            " of ",
            steps.size(),
            " steps idle"
        );
        CHECK((abortable || idle == 0));
    }
}

TEST_CASE("a backend may compute ahead only while inference is prioritized") {
    for (const auto mode :
         {SOTTO_MODE_BALANCE, SOTTO_MODE_PRIORITIZE_COMPUTE, SOTTO_MODE_PRIORITIZE_GRAPHICS}) {
        TappedBackend backend;
        auto desc = plain_desc();
        desc.mode = mode;
        Game game(desc, backend.table());
        game.have("npc", R"({"tokens": ["a", "b"]})");
        CHECK(said(game.finish(game.ask("npc", "hi"))) == "ab");
        for (const auto& step : backend.steps()) {
            const bool ahead = (step.flags & SOTTO_STEP_COMPUTE_AHEAD) != 0;
            CHECK(ahead == (mode == SOTTO_MODE_PRIORITIZE_COMPUTE));
        }
    }
}
