// Private requests, whose events a thread waits for and takes from the request itself.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

using std::chrono::steady_clock;

constexpr Ask kPrivate = {.flags = SOTTO_REQUEST_PRIVATE};
const char* const kEndless = R"({"tokens": ["a"], "loop": true})";

// Takes the ACCEPTED event; no event follows while the model blocks.
void accept(Game& game, sotto_request request) {
    sotto_status status = SOTTO_OK;
    const auto told = game.wait_event(request, kPatience, status);
    REQUIRE(status == SOTTO_OK);
    REQUIRE(told.kind == SOTTO_EVENT_ACCEPTED);
}

double milliseconds_since(steady_clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(steady_clock::now() - begin).count();
}

// A thread that waits for an event, and the result of its call.
class Waiter {
public:
    Waiter(Game& game, sotto_request request)
        : thread_([this, &game, request] {
              auto event = SOTTO_INIT(sotto_event);
              began = true;
              status = sotto_engine_wait_request_event(game.engine(), request, kPatience, &event);
              why = last_error();
          }) {
        while (!began) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(10)); // so that it is most likely waiting
    }
    ~Waiter() { join(); }
    Waiter(const Waiter&) = delete;
    Waiter& operator=(const Waiter&) = delete;

    void join() {
        if (thread_.joinable()) {
            thread_.join();
        }
    }

    std::atomic<bool> began{false};
    std::atomic<sotto_status> status{1000};
    std::string why;

private:
    std::thread thread_;
};

} // namespace

TEST_CASE("all events of a private request go to the thread that waits for it, none to the queue") {
    Game game;
    game.have("npc");
    const auto taken = game.all().size();
    const auto request = game.ask("npc", "one two", kPrivate);
    const auto history = game.finish_private(request);
    CHECK(history.front().kind == SOTTO_EVENT_ACCEPTED);
    CHECK(said(history) == "one two");
    CHECK(done(history).status == SOTTO_OK);
    game.drain();
    CHECK(game.all().size() == taken);
}

TEST_CASE("a private request ends once its last event is taken") {
    Game game;
    game.have("npc");
    const auto request = game.ask("npc", "hi", kPrivate);
    game.finish_private(request);
    sotto_status status = SOTTO_OK;
    game.wait_event(request, 0, status);
    CHECK(status == SOTTO_ERROR_NOT_FOUND);
    CHECK(
        last_error() ==
        "invalid request '" + std::to_string(request) + "': it has ended, or was never submitted"
    );
    CHECK(sotto_engine_cancel(game.engine(), request) == SOTTO_ERROR_NOT_FOUND);
    CHECK(sotto_engine_discard_request(game.engine(), request) == SOTTO_ERROR_NOT_FOUND);
    for (const sotto_request never : {sotto_request{0}, request + 65536, UINT64_MAX}) {
        game.wait_event(never, 0, status);
        CHECK(status == SOTTO_ERROR_NOT_FOUND);
    }
}

TEST_CASE("a wait ends at its timeout and loses no event") {
    Held held;
    Game game(held.backend.table());
    game.have("npc");
    held.gate.shut();
    const auto request = game.ask("npc", "hi", kPrivate);
    accept(game, request);
    sotto_status status = SOTTO_OK;
    game.wait_event(request, 0, status);
    CHECK(status == SOTTO_EMPTY);
    const auto begin = steady_clock::now();
    game.wait_event(request, 30, status);
    CHECK(status == SOTTO_EMPTY);
    CHECK(milliseconds_since(begin) >= 30);
    held.gate.open();
    CHECK(said(game.finish_private(request)) == "hi");
}

TEST_CASE("a wait without a timeout ends with an event") {
    Held held;
    Game game(held.backend.table());
    game.have("npc");
    held.gate.shut();
    const auto request = game.ask("npc", "hi", kPrivate);
    accept(game, request);
    std::thread opener([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        held.gate.open();
    });
    sotto_status status = SOTTO_OK;
    CHECK(game.wait_event(request, -1, status).text == "hi");
    CHECK(status == SOTTO_OK);
    opener.join();
}

TEST_CASE("only one thread at a time can wait for a request") {
    Held held;
    Game game(held.backend.table());
    game.have("npc");
    held.gate.shut();
    const auto request = game.ask("npc", "hi", kPrivate);
    accept(game, request);
    Waiter waiter(game, request);
    sotto_status status = SOTTO_OK;
    REQUIRE(game.until([&] {
        game.wait_event(request, 0, status);
        return status == SOTTO_ERROR_STATE;
    }));
    CHECK(
        last_error() == "invalid request '" + std::to_string(request) +
                            "': another thread waits for its events; wait on one thread"
    );
    held.gate.open();
    waiter.join();
    CHECK(waiter.status == SOTTO_OK);
}

TEST_CASE("dropping a request wakes its waiting thread, and the request is gone") {
    Held held;
    Game game(held.backend.table());
    game.have("npc", kEndless);
    held.gate.shut();
    const auto request = game.ask("npc", "hi", kPrivate);
    accept(game, request);
    Waiter waiter(game, request);
    CHECK(sotto_engine_discard_request(game.engine(), request) == SOTTO_OK);
    waiter.join();
    CHECK((waiter.status == SOTTO_ERROR_CANCELLED || waiter.status == SOTTO_ERROR_NOT_FOUND));
    sotto_status status = SOTTO_OK;
    game.wait_event(request, 0, status);
    CHECK(status == SOTTO_ERROR_NOT_FOUND);
    CHECK(sotto_engine_discard_request(game.engine(), request) == SOTTO_ERROR_NOT_FOUND);
    held.gate.open();
    CHECK(game.until([&] { return held.backend.count(Point::close) == 1; })); // its work has ended too
}

TEST_CASE("a finished request whose last event was not taken can be dropped") {
    Game game;
    game.have("npc");
    const auto request = game.ask("npc", "hi", kPrivate);
    const auto after = game.ask("npc", "then");
    game.finish(after);
    CHECK(sotto_engine_discard_request(game.engine(), request) == SOTTO_OK);
    sotto_status status = SOTTO_OK;
    game.wait_event(request, kPatience, status);
    CHECK(status == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("a cancelled private request delivers its last event to the waiting thread") {
    Held held;
    Game game(held.backend.table());
    game.have("npc", kEndless);
    held.gate.shut();
    const auto request = game.ask("npc", "hi", kPrivate);
    accept(game, request);
    game.cancel(request);
    sotto_status status = SOTTO_OK;
    const auto told = game.wait_event(request, kPatience, status);
    CHECK(status == SOTTO_OK);
    CHECK(told.kind == SOTTO_EVENT_REQUEST_DONE);
    CHECK(told.status == SOTTO_ERROR_CANCELLED);
    held.gate.open();
}

TEST_CASE("destroying the engine wakes threads that wait for a request or for the queue") {
    Held held;
    Game game(held.backend.table());
    game.have("npc", kEndless);
    held.gate.shut();
    const auto request = game.ask("npc", "hi", kPrivate);
    accept(game, request);
    auto* engine = game.engine();
    Waiter waiter(game, request);
    std::atomic<sotto_status> waited{1000};
    std::thread queue([&] { waited = sotto_engine_wait_for_events(engine, -1); });
    std::thread ender([&] { sotto_engine_destroy(engine); });
    waiter.join();
    queue.join();
    CHECK((waiter.status == SOTTO_ERROR_CANCELLED || waiter.status == SOTTO_ERROR_ARGUMENT));
    CHECK((waited == SOTTO_ERROR_CANCELLED || waited == SOTTO_ERROR_ARGUMENT));
    held.gate.open();
    ender.join();
}

TEST_CASE("a request that is not private can be neither waited for nor dropped") {
    Held held;
    Game game(held.backend.table());
    game.have("npc");
    held.gate.shut();
    const auto request = game.ask("npc", "hi");
    sotto_status status = SOTTO_OK;
    game.wait_event(request, 0, status);
    CHECK(status == SOTTO_ERROR_STATE);
    CHECK(
        last_error() == "invalid request '" + std::to_string(request) +
                            "': expected a private request; take its events with sotto_engine_next_event()"
    );
    CHECK(sotto_engine_discard_request(game.engine(), request) == SOTTO_ERROR_STATE);
    held.gate.open();
    CHECK(said(game.finish(request)) == "hi");
}

TEST_CASE("models can be loaded and unloaded by private requests") {
    Game game;
    const auto history = game.finish_private(game.load("npc", R"({"load_ms": 5})", SOTTO_REQUEST_PRIVATE));
    CHECK(done(history).status == SOTTO_OK);
    CHECK(count(history, SOTTO_EVENT_PROGRESS) >= 10);
    sotto_request leaving = 0;
    REQUIRE(
        sotto_engine_unload_model(game.engine(), str("npc"), SOTTO_REQUEST_PRIVATE, &leaving) == SOTTO_OK
    );
    CHECK(done(game.finish_private(leaving)).status == SOTTO_OK);
    game.drain();
    CHECK(game.all().empty());
}

TEST_CASE("an event stays valid on the thread that took it, even after the engine is destroyed") {
    auto event = SOTTO_INIT(sotto_event);
    {
        Game game;
        game.have("npc");
        const auto request = game.ask("npc", "hi", kPrivate);
        while (event.kind != SOTTO_EVENT_REQUEST_DONE) {
            REQUIRE(sotto_engine_wait_request_event(game.engine(), request, kPatience, &event) == SOTTO_OK);
        }
    }
    CHECK(text_of(event.json).find("\"content\":\"hi\"") != std::string::npos);
}

TEST_CASE("a wait for the queue ends with an event or at its timeout") {
    Game game;
    CHECK(sotto_engine_wait_for_events(game.engine(), 0) == SOTTO_EMPTY);
    const auto begin = steady_clock::now();
    CHECK(sotto_engine_wait_for_events(game.engine(), 20) == SOTTO_EMPTY);
    CHECK(milliseconds_since(begin) >= 20);
    const auto request = game.ask("nobody", "hi");
    CHECK(sotto_engine_wait_for_events(game.engine(), kPatience) == SOTTO_OK);
    CHECK(sotto_engine_wait_for_events(game.engine(), 0) == SOTTO_OK); // the event was not taken yet
    game.finish(request);
    CHECK(sotto_engine_wait_for_events(game.engine(), 0) == SOTTO_EMPTY);
}
