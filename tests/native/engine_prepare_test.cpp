// Parsing and preparing requests in parallel to steps: a slow or large request delays no other.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/control/incoming.hpp"
#include "support/game.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

const char* const kPrepared = R"({"prepare_ms": 0})";
const char* const kSlow = R"({"prepare_ms": 60000})"; // until it is cancelled
const char* const kEndless = R"({"tokens": ["a"], "loop": true, "prepare_ms": 0})";

std::int64_t ms_since(std::chrono::steady_clock::time_point begin) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begin)
        .count();
}

// A chat larger than the control thread parses itself; `text` is its last message.
std::string large_chat(std::string_view text, std::string_view more = "", std::size_t messages = 5000) {
    std::string body = R"({"model": "npc", "messages": [)";
    for (std::size_t i = 0; i < messages; ++i) {
        body += R"({"role": "user", "content": "word word"}, )";
    }
    return body + R"({"role": "user", "content": )" + quoted(text) + "}]" + std::string(more) + "}";
}

std::string in_session(std::string_view id, std::string_view text) {
    return R"({"session": )" + quoted(id) + R"(, "messages": [{"role": "user", "content": )" + quoted(text) +
           "}]}";
}

} // namespace

TEST_CASE("a stream continues to decode while another request is prepared") {
    Held held(Point::prepare);
    Game game(held.backend.table());
    game.have("npc", kEndless);
    const auto speaks = game.ask("npc", "hi");
    game.until_told(speaks, SOTTO_EVENT_TEXT, 3);
    held.gate.shut();
    const auto slow = game.ask("npc", "hi");
    REQUIRE(held.gate.holds());
    const auto before = count(game.of(speaks), SOTTO_EVENT_TEXT);
    game.until_told(speaks, SOTTO_EVENT_TEXT, before + 50);
    CHECK(count(game.of(slow), SOTTO_EVENT_TEXT) == 0);
    held.gate.open();
    game.until_told(slow, SOTTO_EVENT_TEXT, 3);
}

TEST_CASE("a prepared request is answered from its prepared state, which is freed once") {
    TappedBackend backend;
    {
        Game game(backend.table());
        game.have("npc", kPrepared);
        CHECK(said(game.finish(game.ask("npc", "one two three"))) == "one two three");
        const auto twice = game.ask("npc", "again", {.more = R"(, "n": 3)"});
        game.finish(twice);
        CHECK(backend.count(Point::prepare) == 1); // requests with several choices are not prepared
        CHECK(backend.count(Point::open) == 4);
    }
    CHECK(backend.count(Point::prepared_close) == 0); // stream_open took ownership of each
}

TEST_CASE("an operation without steps is answered by its preparation") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc", kPrepared);
    const auto request = game.submit(R"({"model": "npc", "content": "one three"})", {}, SOTTO_OP_TOKENIZE);
    CHECK(done(game.finish(request)).json == R"({"tokens":[3,6]})");
    CHECK(backend.count(Point::open) == 0);
}

TEST_CASE("a request whose preparation fails does not affect others") {
    Game game;
    game.have("npc", R"({"prepare_ms": 0, "fail_prepare": "no such words"})");
    const auto& last = done(game.finish(game.ask("npc", "hi")));
    CHECK(last.status == SOTTO_ERROR_INFERENCE);
    CHECK(last.error == "no such words");
    CHECK(sotto_engine_cancel(game.engine(), last.request) == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("a request is cancelled at once during its preparation, which is cancelled too") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc", kSlow);
    const auto request = game.ask("npc", "hi");
    REQUIRE(game.until([&] { return backend.count(Point::prepare) == 1; }));
    game.cancel(request);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_CANCELLED);
    CHECK(said(game.finish(game.unload("npc"))).empty()); // which does not wait
    CHECK(backend.count(Point::open) == 0);
    CHECK(backend.count(Point::unload) == 1);
}

TEST_CASE("models are unloaded and engines destroyed while requests are prepared") {
    const auto begin = std::chrono::steady_clock::now();
    for (const bool unloads : {true, false}) {
        TappedBackend backend;
        Game game(backend.table());
        game.have("npc", kSlow);
        std::vector<sotto_request> requests;
        for (int i = 0; i < 12; ++i) { // more than there are threads
            requests.push_back(game.ask("npc", "hi"));
        }
        REQUIRE(game.until([&] { return backend.count(Point::prepare) > 0; }));
        if (unloads) {
            CHECK(done(game.finish(game.unload("npc"))).status == SOTTO_OK);
            for (const auto request : requests) {
                CHECK(done(game.finish(request)).status == SOTTO_ERROR_CANCELLED);
            }
        }
        game.end();
        CHECK(backend.count(Point::unload) == 1);
        CHECK(backend.count(Point::open) == 0);
    }
    CHECK(ms_since(begin) < kPatience);
}

TEST_CASE("requests are prepared ahead only for free slots, and are freed when cancelled") {
    Held held(Point::step);
    Game game(held.backend.table());
    game.have("npc", R"({"prepare_ms": 0, "streams": 3})");
    held.gate.shut();
    std::vector<sotto_request> requests;
    for (int i = 0; i < 20; ++i) {
        requests.push_back(game.ask("npc", "hi"));
        game.until_told(requests.back(), SOTTO_EVENT_ACCEPTED);
    }
    REQUIRE(held.gate.holds());
    REQUIRE(game.until([&] { return held.backend.count(Point::prepare) >= 4; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    CHECK(
        held.backend.count(Point::prepare) <= 7
    ); // 3 have slots, 3 more are prepared, and one was in between
    for (const auto request : requests) {
        game.cancel(request);
        game.finish(request);
    }
    held.gate.open();
    REQUIRE(game.until([&] { return held.backend.count(Point::open) == held.backend.count(Point::close); }));
    game.end();
    const auto opened = held.backend.count(Point::open) + held.backend.count(Point::prepared_close);
    CHECK(opened == held.backend.count(Point::prepare));
}

TEST_CASE("a request of higher priority is prepared first, even behind many others") {
    Held held(Point::step);
    Game game(held.backend.table());
    game.have("npc", R"({"prepare_ms": 0, "streams": 1, "parkable": true})");
    held.gate.shut();
    std::vector<sotto_request> others;
    for (int i = 0; i < 40; ++i) { // more than end while a busy machine lets the preparing thread wait
        others.push_back(game.ask("npc", "one two", {.priority = SOTTO_PRIORITY_BACKGROUND}));
    }
    REQUIRE(held.gate.holds());
    const auto urgent = game.ask("npc", "hi", {.priority = SOTTO_PRIORITY_FOREGROUND});
    game.until_told(urgent, SOTTO_EVENT_ACCEPTED);
    held.gate.open();
    CHECK(said(game.finish(urgent)) == "hi");
    for (const auto other : others) {
        CHECK(said(game.finish(other)) == "one two");
    }
    const auto ended = [&](sotto_request request) { // its position among all events
        const auto& all = game.all();
        return std::find_if(
                   all.begin(),
                   all.end(),
                   [&](const Told& one) {
                       return one.request == request && one.kind == SOTTO_EVENT_REQUEST_DONE;
                   }
               ) -
               all.begin();
    };
    CHECK(ended(urgent) < ended(others.back()));
}

TEST_CASE("a large request is parsed on another thread, which reports its errors") {
    Game game;
    game.have("npc");
    CHECK(said(game.finish(game.submit(large_chat("one two")))) == "one two");
    const auto& bad = done(game.finish(game.submit(large_chat("hi", R"(, "temperature": "warm")"))));
    CHECK(bad.status == SOTTO_ERROR_ARGUMENT);
    CHECK(bad.error.find("invalid temperature 'warm'") == 0);
    const auto gone = game.submit(large_chat("hi"));
    game.cancel(gone);
    CHECK(done(game.finish(gone)).status == SOTTO_ERROR_CANCELLED);
    game.submit(large_chat("hi")); // the engine is destroyed meanwhile
}

TEST_CASE("requests of a session keep their order, however large they are") {
    Game game;
    game.have("npc");
    std::string open = R"({"session": "a", "model": "npc", "messages": [)";
    for (int i = 0; i < 5000; ++i) {
        open += R"({"role": "user", "content": "word word"}, )";
    }
    open += R"({"role": "user", "content": "word"}]})";
    const auto opened = game.submit(open, {}, SOTTO_OP_OPEN_SESSION);
    const auto asked = game.submit(in_session("a", "one two"));
    // a session that does not exist: the request does not wait
    const auto other = game.submit(in_session("b", "three"));
    const auto closed = game.submit(R"({"session": "a"})", {}, SOTTO_OP_CLOSE_SESSION);
    CHECK(done(game.finish(other)).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(done(game.finish(opened)).status == SOTTO_OK);
    CHECK(said(game.finish(asked)) == "one two");
    CHECK(done(game.finish(closed)).status == SOTTO_OK);
}

TEST_CASE("session names are found in a body by scanning its bytes") {
    const auto ids = [](std::string_view body) { return sotto::names_in(body).ids; };
    using Ids = std::vector<std::string>;
    CHECK(ids(R"({"session": "a", "messages": []})") == Ids{"a"});
    CHECK(ids("{\"session\"\n:\t\"a b\", \"from\":\"c\"}") == Ids{"a b", "c"});
    CHECK(ids(R"({"content": "\"session\": \"a\"", "x": "session"})").empty());
    CHECK(ids(R"({"session": {"session": "inner"}})") == Ids{"inner"});
    CHECK(ids("\"session\"").empty());
    CHECK_FALSE(sotto::names_in(R"({"content": "\u00e9"})").all);
    CHECK(sotto::names_in(R"({"\u0073ession": "a"})").all);
    CHECK(sotto::names_in(R"({"session": "a\"b"})").all);
}

TEST_CASE("preparation affects neither scheduling nor recordings") {
    Game game;
    game.have("npc", R"({"prepare_ms": 1, "streams": 2})");
    std::vector<sotto_request> requests;
    for (int i = 0; i < 30; ++i) {
        requests.push_back(game.ask("npc", "one two three", {.priority = i % 3 - 1}));
    }
    for (const auto request : requests) {
        CHECK(said(game.finish(request)) == "one two three");
    }
}
