// Sessions: opening, forking, reading, closing, and their maximum number.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "core/session/sessions.hpp"
#include "support/game.hpp"
#include "support/session.hpp"
#include "text/utf8_stream.hpp"

using namespace test;

namespace {

const std::string kSheet = R"(, "messages": [{"role": "system", "content": "You keep the inn."}])";

struct Refused {
    sotto_op op;
    std::string body;
    sotto_status status;
    std::string why;
};

void check_all(Game& game, const std::vector<Refused>& all) {
    for (const auto& one : all) {
        CAPTURE(one.body);
        const auto told = asked(game, one.op, one.body);
        CHECK(told.status == one.status);
        CHECK(told.error == one.why);
        CHECK(told.json.empty());
    }
}

} // namespace

TEST_CASE("a session is opened, read and closed without a model") {
    Game game;
    const auto told = asked(game, SOTTO_OP_OPEN_SESSION, about("mara", R"(, "model": "npc")" + kSheet));
    CHECK(told.status == SOTTO_OK);
    CHECK(Json::parse(told.json) == Json::parse(R"({"object": "session", "session": "mara", "model": "npc",
                                                    "messages": 1})"));
    const auto read = asked(game, SOTTO_OP_READ_SESSION, about("mara"));
    CHECK(Json::parse(read.json) == Json::parse(R"({"object": "session", "session": "mara", "model": "npc",
        "messages": [{"role": "system", "content": "You keep the inn."}]})"));
    const auto closed = asked(game, SOTTO_OP_CLOSE_SESSION, about("mara"));
    CHECK(closed.status == SOTTO_OK);
    CHECK(closed.json.empty());
    CHECK(asked(game, SOTTO_OP_READ_SESSION, about("mara")).status == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("all sessions are listed by id, with their sizes") {
    Game game;
    CHECK(
        Json::parse(asked(game, SOTTO_OP_READ_SESSION, "{}").json) ==
        Json::parse(R"({"object": "list", "data": []})")
    );
    Session b(game, "b", kSheet);
    Session a(game, "a");
    CHECK(Json::parse(asked(game, SOTTO_OP_READ_SESSION, R"({"session": null})").json) == Json::parse(R"({
        "object": "list", "data": [{"object": "session", "session": "a", "messages": 0},
                                   {"object": "session", "session": "b", "messages": 1}]})"));
}

TEST_CASE("a session opened from what was read is identical") {
    Game game;
    Session first(game, "first", R"(, "model": "npc", "messages": [
        {"role": "user", "content": [{"type": "text", "text": "was gibt es?"}], "name": "Ilse"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
            "function": {"name": "pour", "arguments": "{\"what\": \"Bier\"}"}}]},
        {"role": "tool", "content": "ein Bier \u4e2d", "tool_call_id": "1"}])");
    auto exported = first.read();
    exported["session"] = "second";
    CHECK(asked(game, SOTTO_OP_OPEN_SESSION, sotto::to_text(exported)).status == SOTTO_OK);
    const auto read = Json::parse(asked(game, SOTTO_OP_READ_SESSION, about("second")).json);
    CHECK(read == exported);
    CHECK(read["messages"].size() == 3);
}

TEST_CASE("a fork starts as a copy of all or the first messages, and is independent") {
    Game game;
    game.have("npc");
    Session inn(game, "inn", R"(, "model": "npc")" + kSheet);
    inn.turn("one");
    Session fork(game, "fork", R"(, "from": "inn")");
    Session early(game, "early", R"(, "from": "inn", "keep": 1)");
    Session more(game, "more", R"(, "from": "inn", "keep": 2147483647, "model": "other", "messages": [
        {"role": "user", "content": "who is there?"}])");
    fork.turn("two");
    inn.turn("three");
    early.turn("four");
    const Lines begun = {"system: You keep the inn.", "user: one", "assistant: one"};
    auto with = [&](const Lines& rest) {
        Lines all = begun;
        all.insert(all.end(), rest.begin(), rest.end());
        return all;
    };
    CHECK(inn.lines() == with({"user: three", "assistant: three"}));
    CHECK(fork.lines() == with({"user: two", "assistant: two"}));
    CHECK(early.lines() == Lines{"system: You keep the inn.", "user: four", "assistant: four"});
    CHECK(more.lines() == with({"user: who is there?"}));
    CHECK(fork.read()["model"] == "npc");
    CHECK(more.read()["model"] == "other");
    inn.close(); // messages shared with forks remain
    CHECK(fork.lines() == with({"user: two", "assistant: two"}));
    Session none(game, "none", R"(, "from": "fork", "keep": 0)");
    CHECK(none.lines().empty());
}

TEST_CASE("invalid session requests are refused by path and change nothing") {
    Game game;
    Session mara(game, "mara");
    const auto argument = SOTTO_ERROR_ARGUMENT;
    const std::string longest(128, 'x');
    const std::string id = "': expected a string of 1 to 128 bytes";
    check_all(
        game,
        {
            {SOTTO_OP_OPEN_SESSION, "{}", argument, "missing session: expected the id of a session"},
            {SOTTO_OP_CLOSE_SESSION, "{}", argument, "missing session: expected the id of a session"},
            {SOTTO_OP_OPEN_SESSION, about(""), argument, "invalid session '" + id},
            {SOTTO_OP_READ_SESSION, about(""), argument, "invalid session '" + id},
            {SOTTO_OP_OPEN_SESSION,
             R"({"session": 7})",
             argument,
             "invalid session '7': expected a string of 1 to 128 bytes"},
            {SOTTO_OP_OPEN_SESSION,
             about(longest + "x"),
             argument,
             "invalid session '" + longest.substr(0, 40) + "...': expected a string of 1 to 128 bytes"},
            {SOTTO_OP_OPEN_SESSION,
             about("b", R"(, "model": 3)"),
             argument,
             "invalid model '3': expected the id of a loaded model"},
            {SOTTO_OP_OPEN_SESSION,
             about("b", R"(, "messages": {})"),
             argument,
             "invalid messages '{}': expected an array of messages"},
            {SOTTO_OP_OPEN_SESSION,
             about("b", R"(, "messages": [{"role": "user", "content": "a"}, {"role": "king"}])"),
             argument,
             "invalid messages[1].role 'king': expected system, developer, user, assistant or tool"},
            {SOTTO_OP_OPEN_SESSION,
             about("b", R"(, "from": "mara", "keep": -1)"),
             argument,
             "invalid keep '-1': expected an integer from 0 to 2147483647"},
            {SOTTO_OP_OPEN_SESSION,
             about("b", R"(, "keep": 1)"),
             argument,
             "invalid keep '1': expected no value without from; set from to the session to copy"},
            {SOTTO_OP_OPEN_SESSION,
             about("mara"),
             SOTTO_ERROR_STATE,
             "session 'mara' is already open: close it first, or choose another id"},
            {SOTTO_OP_OPEN_SESSION,
             about("mara", R"(, "from": "mara")"),
             SOTTO_ERROR_STATE,
             "session 'mara' is already open: close it first, or choose another id"},
            {SOTTO_OP_OPEN_SESSION,
             about("b", R"(, "from": "no\nbody")"),
             SOTTO_ERROR_NOT_FOUND,
             "session 'no\\nbody' is not open: open it first"},
            {SOTTO_OP_CLOSE_SESSION,
             about("b"),
             SOTTO_ERROR_NOT_FOUND,
             "session 'b' is not open: open it first"},
            {SOTTO_OP_READ_SESSION,
             about("b"),
             SOTTO_ERROR_NOT_FOUND,
             "session 'b' is not open: open it first"},
        }
    );
    for (const auto op : {SOTTO_OP_OPEN_SESSION, SOTTO_OP_CLOSE_SESSION, SOTTO_OP_READ_SESSION}) {
        for (const char* body : {"", "[]", "{\"session\": \"\xFF\"}", "{\"session\": \"\\ud800\"}"}) {
            CAPTURE(body);
            const auto told = asked(game, op, body);
            CHECK(told.status == argument);
            CHECK(sotto::is_utf8(told.error));
        }
    }
    Session of_any_script(game, "\u5BBF\u5C4B \U0001F3F0\"\\\n");
    CHECK(of_any_script.lines().empty());
    Session as_long_as_may_be(game, longest);
    CHECK(Json::parse(asked(game, SOTTO_OP_READ_SESSION, "{}").json)["data"].size() == 3);
}

TEST_CASE("the number of open sessions is limited") {
    sotto::Sessions sessions(3);
    const auto open = [&](int number) {
        return sessions.answer(SOTTO_OP_OPEN_SESSION, about(std::to_string(number)));
    };
    for (int i = 0; i < 3; ++i) {
        open(i);
    }
    try {
        open(3);
        FAIL("it was opened");
    } catch (const sotto::Error& error) {
        CHECK(error.status() == SOTTO_ERROR_BUSY);
        CHECK(std::string(error.what()) == "3 sessions are open, the maximum: close one first");
    }
    CHECK_THROWS_AS(open(2), sotto::Error);
    sessions.answer(SOTTO_OP_CLOSE_SESSION, about("1"));
    open(3);
    CHECK(Json::parse(sessions.answer(SOTTO_OP_READ_SESSION, "{}"))["data"].size() == 3);
}

TEST_CASE("an engine opens the number of sessions that its header states, and refuses one more") {
    constexpr int kMost = 65536;
    Game game;
    sotto_request last = 0;
    for (int i = 0; i < kMost; ++i) {
        last = game.submit(about(std::to_string(i)), {}, SOTTO_OP_OPEN_SESSION);
        REQUIRE(last != 0);
        if (i % 1000 == 0) {
            game.finish(last); // bounds the number of live requests
        }
    }
    CHECK(done(game.finish(last)).status == SOTTO_OK);
    const auto refused = asked(game, SOTTO_OP_OPEN_SESSION, about("one more"));
    CHECK(refused.status == SOTTO_ERROR_BUSY);
    CHECK(refused.error == "65536 sessions are open, the maximum: close one first");
    CHECK(asked(game, SOTTO_OP_OPEN_SESSION, about("0")).status == SOTTO_ERROR_STATE);
    CHECK(asked(game, SOTTO_OP_CLOSE_SESSION, about("0")).status == SOTTO_OK);
    CHECK(asked(game, SOTTO_OP_OPEN_SESSION, about("one more")).status == SOTTO_OK);
}

TEST_CASE("ten thousand open sessions cost little, and are freed with the engine") {
    constexpr int kMany = 10'000;
    Game game;
    game.have("npc");
    sotto_request last = 0;
    for (int i = 0; i < kMany; ++i) {
        last = game.submit(about("npc " + std::to_string(i), kSheet), {}, SOTTO_OP_OPEN_SESSION);
        REQUIRE(last != 0);
        if (i % 1000 == 0) {
            game.drain();
        }
    }
    CHECK(done(game.finish(last)).status == SOTTO_OK);
    const auto list = Json::parse(asked(game, SOTTO_OP_READ_SESSION, "{}").json);
    CHECK(list["data"].size() == kMany);
    CHECK(game.until([&] { return count(game.all(), SOTTO_EVENT_REQUEST_DONE) == kMany + 2; }));
    const auto body = chat("npc", "still here", R"(, "session": "npc 9999")");
    CHECK(said(game.finish(game.submit(body))) == "still here");
    game.end(); // none was closed; the leak checker sees that their memory is freed
}

TEST_CASE("a thousand forks of a long conversation store its messages once") {
    Game game;
    std::string messages = R"(, "messages": [{"role": "user", "content": "begin"})";
    const std::string long_text(1000, 'x');
    for (int i = 0; i < 500; ++i) {
        messages += R"(, {"role": "assistant", "content": ")" + long_text + "\"}";
    }
    sotto::Sessions sessions;
    sessions.answer(SOTTO_OP_OPEN_SESSION, about("long", messages + "]"));
    for (int i = 0; i < 1000; ++i) {
        sessions.answer(SOTTO_OP_OPEN_SESSION, about(std::to_string(i), R"(, "from": "long")"));
    }
    sotto::ParsedRequest one;
    one.session.id = "7";
    one.session.rest = "{}";
    one.model = "npc";
    sotto::PageString body;
    CHECK_NOTHROW(sessions.begin(SOTTO_OP_APPLY_TEMPLATE, 1, one, body));
    CHECK(Json::parse(body)["messages"].size() == 501);
}
