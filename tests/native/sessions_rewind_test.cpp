// Rewinding sessions: dropping their last turns.
#include <string>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/session.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

const std::string kSheet = R"(, "model": "npc", "messages": [{"role": "system", "content": "be kind"}])";

Told rewind(Game& game, std::string_view id, std::string_view more = "") {
    const auto body = about(id, R"(, "action": "rewind")" + std::string(more));
    return asked(game, SOTTO_OP_EDIT_SESSION, body);
}

} // namespace

TEST_CASE("a rewind drops the last turns, and the next prompt lacks them") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc");
    Session mara(game, "mara", kSheet);
    for (const char* text : {"one", "two", "three"}) {
        mara.turn(text);
    }
    const auto told = rewind(game, "mara");
    CHECK(told.status == SOTTO_OK);
    CHECK(
        Json::parse(told.json) ==
        Json::parse(R"({"object": "session", "session": "mara", "model": "npc", "messages": 5})")
    );
    mara.turn("four");
    CHECK(
        given(backend) ==
        Lines{"system: be kind", "user: one", "assistant: one", "user: two", "assistant: two", "user: four"}
    );
    CHECK(rewind(game, "mara", R"(, "turns": 2)").status == SOTTO_OK);
    CHECK(mara.lines() == Lines{"system: be kind", "user: one", "assistant: one"});
}

TEST_CASE("a turn is a user message with all that follows it") {
    Game game;
    const std::string call = R"([{"id": "1", "type": "function", "function": {"name": "pour",
        "arguments": "{}"}}])";
    Session inn(
        game,
        "inn",
        R"(, "messages": [{"role": "system", "content": "be kind"},
        {"role": "assistant", "content": "Welcome!"},
        {"role": "user", "content": "beer"}, {"role": "assistant", "content": null, "tool_calls": )" +
            call + R"(},
        {"role": "tool", "content": "poured", "tool_call_id": "1"}, {"role": "assistant", "content": "Here."},
        {"role": "user", "content": "more"}, {"role": "user", "content": "now"}])"
    );
    CHECK(Json::parse(rewind(game, "inn").json)["messages"] == 7); // "now"; "more" is a turn of its own
    CHECK(Json::parse(rewind(game, "inn", R"(, "turns": 2)").json)["messages"] == 2);
    CHECK(inn.lines() == Lines{"system: be kind", "assistant: Welcome!"});
}

TEST_CASE("a rewind can keep a number of first messages") {
    Game game;
    game.have("npc");
    Session mara(game, "mara", kSheet);
    mara.turn("one");
    CHECK(rewind(game, "mara", R"(, "keep": 3)").status == SOTTO_OK);
    CHECK(mara.lines().size() == 3);
    CHECK(rewind(game, "mara", R"(, "keep": 2)").status == SOTTO_OK);
    CHECK(mara.lines() == Lines{"system: be kind", "user: one"});
    CHECK(rewind(game, "mara", R"(, "keep": 0)").status == SOTTO_OK);
    CHECK(mara.lines().empty());
    CHECK(mara.read()["model"] == "npc"); // everything else stays
}

TEST_CASE("forks keep the messages that they share with a session that is rewound") {
    Game game;
    game.have("npc");
    Session mara(game, "mara", kSheet);
    mara.turn("one");
    Session fork(game, "fork", R"(, "from": "mara")");
    CHECK(rewind(game, "mara").status == SOTTO_OK);
    CHECK(fork.lines() == Lines{"system: be kind", "user: one", "assistant: one"});
    CHECK(mara.turn("two") == "two");
    CHECK(rewind(game, "fork").status == SOTTO_OK);
    CHECK(mara.lines() == Lines{"system: be kind", "user: two", "assistant: two"});
}

TEST_CASE("a session is not rewound while it answers a chat") {
    Held held;
    Game game(held.backend.table());
    game.have("npc");
    Session mara(game, "mara", kSheet);
    mara.turn("one");
    held.gate.shut();
    const auto request = mara.say("two");
    REQUIRE(held.gate.holds());
    const auto refused = rewind(game, "mara");
    CHECK(refused.status == SOTTO_ERROR_BUSY);
    CHECK(
        refused.error == "session 'mara' already answers request '" + std::to_string(request) +
                             "': wait for its SOTTO_EVENT_REQUEST_DONE, or cancel it"
    );
    game.cancel(request);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_CANCELLED);
    held.gate.open();
    CHECK(rewind(game, "mara").status == SOTTO_OK);
    CHECK(mara.lines() == Lines{"system: be kind"});
}

TEST_CASE("an invalid rewind is refused by path and changes nothing") {
    Game game;
    game.have("npc");
    Session mara(game, "mara", kSheet);
    mara.turn("one");
    const auto before = mara.read();
    const auto check = [&](std::string_view id, std::string_view more, sotto_status status, const char* why) {
        CAPTURE(more);
        const auto told = asked(game, SOTTO_OP_EDIT_SESSION, about(id, more));
        CHECK(told.status == status);
        CHECK(told.error == why);
        CHECK(told.json.empty());
        CHECK(mara.read() == before);
    };
    const std::string rewinds = R"(, "action": "rewind")";
    const auto argument = SOTTO_ERROR_ARGUMENT;
    check("mara", "", argument, "missing action: expected rewind, cut, copy, shift or read");
    check(
        "mara",
        R"(, "action": "list")",
        argument,
        "invalid action 'list': expected rewind, cut, copy, shift or read"
    );
    check(
        "mara",
        rewinds + R"(, "turns": 0)",
        argument,
        "invalid turns '0': expected an integer from 1 to 2147483647"
    );
    check(
        "mara",
        rewinds + R"(, "turns": 2)",
        argument,
        "invalid turns '2': expected 1 to 1, the turns of session 'mara'; set keep to drop messages by their "
        "number"
    );
    check(
        "mara",
        rewinds + R"(, "keep": 4)",
        argument,
        "invalid keep '4': expected 0 to 3, the messages of session 'mara'"
    );
    check(
        "mara",
        rewinds + R"(, "keep": -1)",
        argument,
        "invalid keep '-1': expected an integer from 0 to 2147483647"
    );
    check(
        "mara",
        rewinds + R"(, "keep": 1, "turns": 1)",
        argument,
        "invalid turns '1': expected no value beside keep; remove one of the two"
    );
    check("odo", rewinds, SOTTO_ERROR_NOT_FOUND, "session 'odo' is not open: open it first");
    Session mute(game, "mute");
    check(
        "mute",
        rewinds,
        argument,
        "invalid turns '1': expected a session with turns, but session 'mute' has none; set keep to drop "
        "messages by their number"
    );
    const auto slots = game.submit(R"({"model": "npc", "action": "rewind"})", {}, SOTTO_OP_SLOTS);
    CHECK(done(game.finish(slots)).error == "invalid action 'rewind': expected list, save, restore or erase");
}
