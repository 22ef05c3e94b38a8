// A request can be cancelled in every phase, and its last event arrives at once.
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

// A backend that blocks at a point, and can delay a step until it is aborted.
struct Cancelled : Held {
    explicit Cancelled(Point at) : Held(at) {
        backend.tap = [this, stand = backend.tap](Point point, const sotto_step* step) {
            stand(point, step);
            if (point == Point::step && wait_for_abort) {
                while (step->gate(step->context) == 0) {
                    std::this_thread::yield();
                }
                ++aborted;
            }
        };
    }

    // Cancels; the last event must arrive although the backend blocks.
    void cancel_now(Game& game, sotto_request request) {
        CHECK(sotto_engine_cancel(game.engine(), request) == SOTTO_OK);
        const auto& last = done(game.finish(request));
        CHECK(last.status == SOTTO_ERROR_CANCELLED);
        CHECK_FALSE(last.error.empty());
    }

    std::atomic<bool> wait_for_abort{false};
    std::atomic<int> aborted{0};
};

const char* const kEndless = R"({"tokens": ["a"], "loop": true})";

} // namespace

TEST_CASE("a request that waits for a slot is cancelled and never reaches the model") {
    Cancelled held(Point::step);
    Game game(held.backend.table());
    game.have("npc", R"({"streams": 1})");
    held.gate.shut();
    const auto first = game.ask("npc", "one two");
    REQUIRE(held.gate.reached());
    const auto second = game.ask("npc", "three");
    game.until_told(second, SOTTO_EVENT_ACCEPTED);
    held.cancel_now(game, second);
    held.gate.open();
    CHECK(said(game.finish(first)) == "one two");
    CHECK(held.backend.count(Point::open) == 1);
}

TEST_CASE("a request cancelled while its stream is being opened has its stream closed") {
    Cancelled held(Point::open);
    Game game(held.backend.table());
    game.have("npc");
    held.gate.shut();
    const auto request = game.ask("npc", "hi");
    REQUIRE(held.gate.reached());
    held.cancel_now(game, request);
    CHECK(count(game.of(request), SOTTO_EVENT_TEXT) == 0);
    held.gate.open();
    CHECK(said(game.finish(game.ask("npc", "still there"))) == "still there");
    game.end();
    CHECK(held.backend.count(Point::open) == held.backend.count(Point::close));
    CHECK(held.backend.count(Point::unload) == 1);
}

TEST_CASE("a running step is aborted when all of its streams are cancelled") {
    for (const char* script :
         {kEndless, R"({"tokens": ["a"], "prompt_tokens": 100000})"}) { // decoding, prefilling
        Cancelled held(Point::step);
        Game game(held.backend.table());
        game.have("npc", script);
        const bool speaks = script == kEndless;
        if (!speaks) {
            held.gate.shut();
        }
        const auto request = game.ask("npc", "hi");
        if (speaks) {
            game.until_told(request, SOTTO_EVENT_TEXT, 3);
            held.gate.shut();
        }
        REQUIRE(held.gate.holds());
        held.wait_for_abort = true;
        held.gate.open();
        held.cancel_now(game, request);
        REQUIRE(game.until([&] { return held.backend.count(Point::close) == 1; }));
        held.wait_for_abort = false;
        game.drain();
        CHECK(game.of(request).back().kind == SOTTO_EVENT_REQUEST_DONE); // no event follows it
    }
}

TEST_CASE("a running step continues while one of its streams is not cancelled") {
    Cancelled held(Point::step);
    auto desc = plain_desc();
    auto one = SOTTO_INIT(sotto_threads);
    one.compute_threads = 1; // otherwise it would be repeated on fewer threads
    desc.threads = &one;
    Game game(desc, held.backend.table());
    game.have("npc", kEndless);
    held.gate.shut();
    const auto first = game.ask("npc", "hi");
    REQUIRE(held.gate.reached());
    const auto second = game.ask("npc", "hi");
    game.until_told(second, SOTTO_EVENT_ACCEPTED);
    held.gate.open();
    game.until_told(second, SOTTO_EVENT_TEXT, 3);
    held.wait_for_abort = true; // from the next step on, each step waits until it is aborted
    REQUIRE(held.gate.reached(static_cast<int>(held.backend.steps().size())));
    held.cancel_now(game, second);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(held.aborted == 0);
    held.cancel_now(game, first);
    REQUIRE(game.until([&] { return held.backend.count(Point::close) == 2; }));
    CHECK(held.aborted <= 1);
}

TEST_CASE("a step that stalls on many threads is aborted and repeated on fewer without loss") {
    if (sotto::usable_cores() < 2) {
        return;
    }
    TappedBackend backend;
    std::atomic<int> many{0};
    backend.tap = [&](Point point, const sotto_step* step) {
        const bool stands_still = point == Point::step && step->threads > 1 && ++many > 4;
        for (int i = 0; stands_still && i < 20'000 && step->gate(step->context) == 0; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    };
    Game game(backend.table());
    game.have("npc", R"({"tokens": ["a", "b", "c"], "loop": true, "token_ms": 1})");
    const auto request = game.ask("npc", "hi", {.more = R"(, "max_tokens": 30)"});
    CHECK(said(game.finish(request)) == "abcabcabcabcabcabcabcabcabcabc");
    CHECK(many >= 5); // on a busy machine one thread may be tried earlier
    CHECK(backend.steps().back().threads == 1);
}

TEST_CASE("a load is cancelled at once, and the model is not listed") {
    Cancelled held(Point::load);
    Game game(held.backend.table());
    held.gate.shut();
    const auto loading = game.load("npc", R"({"load_ms": 1000})");
    REQUIRE(held.gate.reached());
    held.cancel_now(game, loading);
    held.gate.open();
    CHECK(done(game.finish(game.ask("npc", "hi"))).status == SOTTO_ERROR_NOT_FOUND);
    game.end();
    CHECK(held.backend.count(Point::unload) == 0);
}

TEST_CASE("a load cancelled after the backend has opened the model leaves no model behind") {
    Gate loaded;
    TappedBackend backend;
    backend.tap = [&](Point point, const sotto_step*) {
        if (point == Point::load) {
            loaded.pass();
        }
    };
    auto table = backend.table();
    table.open = [](void* self,
                    const sotto_model_source* source,
                    void** model,
                    sotto_model_info* info,
                    sotto_str* why) {
        auto deaf = *source;
        deaf.progress = [](void*, float) { return 0; };
        return static_cast<TappedBackend*>(self)->table().open(self, &deaf, model, info, why);
    };
    Game game(table);
    loaded.shut();
    const auto loading = game.load("npc", "{}");
    REQUIRE(loaded.reached());
    game.cancel(loading);
    CHECK(done(game.finish(loading)).status == SOTTO_ERROR_CANCELLED);
    loaded.open();
    REQUIRE(game.until([&] { return backend.count(Point::unload) == 1; }));
    CHECK(done(game.finish(game.ask("npc", "hi"))).status == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("a second request for a model gets it when the first one is cancelled") {
    Cancelled held(Point::load);
    Game game(held.backend.table());
    held.gate.shut();
    const auto first = game.load("npc", "{}");
    REQUIRE(held.gate.reached());
    const auto second = game.load("npc", "{}");
    game.until_told(second, SOTTO_EVENT_ACCEPTED);
    held.cancel_now(game, first);
    held.gate.open();
    CHECK(done(game.finish(second)).status == SOTTO_OK);
    CHECK(held.backend.count(Point::load) == 1);
}

TEST_CASE("a model whose load was cancelled can be loaded again at once, also from another path") {
    for (const char* script : {"{}", R"({"tokens": ["another"]})"}) {
        Cancelled held(Point::load);
        Game game(held.backend.table());
        held.gate.shut();
        const auto first = game.load("npc", "{}");
        REQUIRE(held.gate.reached());
        held.cancel_now(game, first);
        const auto second = game.load("npc", script);
        held.gate.open();
        CHECK(done(game.finish(second)).error == "");
        CHECK(done(game.of(second)).status == SOTTO_OK);
        CHECK_FALSE(said(game.finish(game.ask("npc", "hi"))).empty());
    }
}

TEST_CASE("an unload cannot be cancelled: it succeeds") {
    Cancelled held(Point::unload);
    Game game(held.backend.table());
    game.have("npc");
    held.gate.shut();
    const auto leaving = game.unload("npc");
    REQUIRE(held.gate.reached());
    CHECK(sotto_engine_cancel(game.engine(), leaving) == SOTTO_OK);
    held.gate.open();
    CHECK(done(game.finish(leaving)).status == SOTTO_OK);
}

TEST_CASE("cancelling a finished or unknown request does nothing") {
    Game game;
    game.have("npc");
    const auto request = game.ask("npc", "hi");
    game.finish(request);
    for (const sotto_request name : {request, request + 1, sotto_request{0}, UINT64_MAX}) {
        CHECK(sotto_engine_cancel(game.engine(), name) == SOTTO_ERROR_NOT_FOUND);
    }
}

TEST_CASE("a request cancelled several times gets one last event") {
    Cancelled held(Point::step);
    Game game(held.backend.table());
    game.have("npc", kEndless);
    held.gate.shut();
    const auto request = game.ask("npc", "hi");
    REQUIRE(held.gate.reached());
    for (int i = 0; i < 50; ++i) {
        game.cancel(request);
    }
    game.finish(request);
    held.gate.open();
    CHECK(said(game.finish(game.ask("npc", "x", {.more = R"(, "max_tokens": 2)"}))) == "aa");
    CHECK(count(game.of(request), SOTTO_EVENT_REQUEST_DONE) == 1);
}

TEST_CASE("a request cancelled right after its submission ends as cancelled in every phase") {
    Game game;
    game.have("npc", R"({"tokens": ["a"], "loop": true, "streams": 2})");
    std::vector<sotto_request> all;
    for (int i = 0; i < 500; ++i) {
        all.push_back(game.ask("npc", "hi"));
        game.cancel(all.back());
    }
    for (const auto request : all) {
        const auto& history = game.finish(request);
        CHECK(done(history).status == SOTTO_ERROR_CANCELLED);
        CHECK(count(history, SOTTO_EVENT_ACCEPTED) <= 1);
    }
}

TEST_CASE("a cancelled request reports the generated tokens of all its choices") {
    Game game;
    game.have("npc", R"({"tokens": ["a"], "loop": true, "token_ms": 1})");
    for (const auto* more : {"", R"(, "n": 3)"}) {
        const auto request = game.ask("npc", "hi", {.more = more});
        game.until_told(request, SOTTO_EVENT_TEXT, 9);
        game.cancel(request);
        const auto& history = game.finish(request);
        std::uint32_t told = 0;
        for (std::uint32_t index = 0; index < 3; ++index) {
            std::uint32_t last = 0;
            for (const auto& event : history) {
                if (event.kind == SOTTO_EVENT_TEXT && event.index == index) {
                    last = event.tokens;
                }
            }
            told += last;
        }
        CHECK(done(history).status == SOTTO_ERROR_CANCELLED);
        CHECK(done(history).tokens == told);
        CHECK(told >= 9);
    }
}
