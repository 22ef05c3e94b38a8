// The parts of a turn that a session stores.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/session.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

const std::string kModel = R"(, "model": "npc")";

} // namespace

TEST_CASE("a request contains only new messages, and the model receives all") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc");
    Session mara(game, "mara", R"(, "messages": [{"role": "system", "content": "be kind"}])");
    CHECK(mara.turn("one") == "one");
    CHECK(given(backend) == Lines{"system: be kind", "user: one"});
    CHECK(mara.turn("two") == "two");
    CHECK(given(backend) == Lines{"system: be kind", "user: one", "assistant: one", "user: two"});
    CHECK(mara.lines().size() == 5);
    CHECK(mara.read()["model"] == "npc"); // taken from the first request
}

TEST_CASE("other fields of a request reach the model unchanged, in order") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc", R"({"constrainable": true})");
    Session mara(game, "mara");
    const std::string schema =
        R"("response_format":{"type":"json_schema","json_schema":{"name":"a","schema":)"
        R"({"type":"object","properties":{"z":{"type":"string"},"a":{"type":"string"}}}}})";
    mara.turn("one", R"(, "temperature": 0.7, "max_tokens": 3, )" + schema);
    CHECK(
        backend.bodies().back() ==
        R"({"messages":[{"role":"user","content":"one"}],"model":"npc","temperature":0.7,)"
        R"("max_tokens":3,)" +
            schema + "}"
    );
}

TEST_CASE("a turn is stored before the host receives the last event") {
    Game game;
    game.have("npc");
    Session mara(game, "mara");
    Lines expected;
    for (int i = 0; i < 50; ++i) {
        const auto text = "turn " + std::to_string(i);
        const bool is_private = i % 2 == 0;
        const auto request =
            mara.say(text, "", {.flags = is_private ? SOTTO_REQUEST_PRIVATE : SOTTO_REQUEST_CHUNKS});
        const auto history = is_private ? game.finish_private(request) : game.finish(request);
        // not BUSY: the session is free again
        CHECK_MESSAGE(done(history).status == SOTTO_OK, done(history).error);
        expected.push_back("user: " + text);
        expected.push_back("assistant: " + text);
    }
    CHECK(mara.lines() == expected);
}

TEST_CASE("a session's model answers if the request names none") {
    Game game;
    game.have("npc");
    game.have("other", R"({"tokens": ["from another"]})");
    Session mara(game, "mara", kModel);
    const auto ask = [&](const std::string& more) {
        return game.finish(
            game.submit(R"({"session": "mara", "messages": [{"role": "user", "content": "a"}])" + more + "}")
        );
    };
    CHECK(said(ask("")) == "a");
    CHECK(said(ask(R"(, "model": "other")")) == "from another"); // for this turn only
    CHECK(said(ask("")) == "a");
    game.finish(game.unload("npc"));
    const auto lost = done(ask(""));
    CHECK(lost.status == SOTTO_ERROR_NOT_FOUND);
    CHECK(lost.error == "model 'npc' is not loaded: load it first with sotto_engine_load_model()");
    game.have("npc");
    CHECK(said(ask("")) == "a"); // the session outlives its model
    CHECK(mara.lines().size() == 8);
}

TEST_CASE("a request without messages answers the session's messages") {
    Game game;
    game.have("npc");
    Session mara(game, "mara", kModel + R"(, "messages": [{"role": "user", "content": "well then"}])");
    CHECK(said(game.finish(game.submit(about("mara")))) == "well then");
    CHECK(said(game.finish(game.submit(about("mara", R"(, "messages": [])")))) == "well then");
    CHECK(mara.lines() == Lines{"user: well then", "assistant: well then", "assistant: well then"});
}

TEST_CASE("reasoning is not stored, tool calls are") {
    Game game;
    game.have("npc", R"({"tokens": ["a", "b"], "deltas": [
        [{"reasoning_content": "hm"}], [{"content": "Here."}],
        [{"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "pour", "arguments": "{}"}}]}]]})");
    Session mara(game, "mara");
    const auto history = game.finish(mara.say("a beer"));
    CHECK(count(history, SOTTO_EVENT_REASONING) == 1);
    const auto response = Json::parse(done(history).json)["choices"][0];
    CHECK(response["finish_reason"] == "tool_calls");
    const auto last = mara.read()["messages"][1];
    CHECK(last["content"] == "Here.");
    CHECK(last["tool_calls"] == response["message"]["tool_calls"]);
    CHECK_FALSE(last.contains("reasoning_content"));
}

TEST_CASE("an answer cut by max_tokens is stored, and can be continued") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc", R"({"tokens": ["once", " upon", " a"], "loop": true})");
    Session mara(game, "mara");
    CHECK(mara.turn("tell", R"(, "max_tokens": 2)") == "once upon");
    const auto more = R"(, "model": "npc", "max_tokens": 2, "continue_final_message": true)";
    CHECK(said(game.finish(game.submit(about("mara", more)))) == "once upon");
    CHECK(given(backend) == Lines{"user: tell", "assistant: once upon"});
    CHECK(mara.lines() == Lines{"user: tell", "assistant: once upononce upon"});
    const auto begun = R"(, "model": "npc", "max_tokens": 1, "continue_final_message": true, "messages": [
        {"role": "user", "content": "and then?"}, {"role": "assistant", "content": "Then "}])";
    game.finish(game.submit(about("mara", begun)));
    CHECK(
        mara.lines() ==
        Lines{"user: tell", "assistant: once upononce upon", "user: and then?", "assistant: Then once"}
    );
}

TEST_CASE("an answer that fails or is cancelled leaves the session unchanged and free") {
    Held held;
    Game game(held.backend.table());
    game.have("npc");
    game.have("ill", R"({"tokens": ["a", "b"], "fail_at": 1})");
    game.have("shut", R"({"fail_open": "not today"})");
    Session mara(game, "mara", kModel + R"(, "messages": [{"role": "system", "content": "be kind"}])");
    const Lines before = {"system: be kind"};
    held.gate.shut();
    const auto cut = mara.say("one two three");
    REQUIRE(held.gate.holds());
    game.cancel(cut);
    const auto& cancelled = game.finish(cut); // the step still runs
    CHECK(done(cancelled).status == SOTTO_ERROR_CANCELLED);
    const auto next = mara.say("four");
    held.gate.open();
    CHECK(said(game.finish(next)) == "four");
    CHECK(mara.lines() == Lines{"system: be kind", "user: four", "assistant: four"});
    Session fork(game, "fork", R"(, "from": "mara", "keep": 1)");
    for (const char* model : {"ill", "shut", "nobody"}) {
        const auto body = chat(model, "hi", R"(, "session": "fork")");
        CHECK(done(game.finish(game.submit(body))).status < 0);
        CHECK(fork.lines() == before);
    }
    held.gate.shut();
    const auto orphan = fork.say("five");
    REQUIRE(held.gate.holds());
    const auto unloading = game.unload("npc");
    CHECK(done(game.finish(orphan)).status == SOTTO_ERROR_CANCELLED);
    held.gate.open();
    game.finish(unloading);
    game.have("npc");
    CHECK(fork.turn("six") == "six");
    CHECK(fork.lines().size() == 3);
}

TEST_CASE("a session answers one chat at a time, and names the request to wait for") {
    Held held;
    Game game(held.backend.table());
    game.have("npc");
    Session mara(game, "mara", kModel);
    Session other(game, "other", kModel);
    held.gate.shut();
    const auto first = mara.say("one");
    REQUIRE(held.gate.holds());
    const auto& refused = game.finish(mara.say("two"));
    CHECK(refused.size() == 1);
    CHECK(done(refused).status == SOTTO_ERROR_BUSY);
    CHECK(
        done(refused).error == "session 'mara' already answers request '" + std::to_string(first) +
                                   "': wait for its SOTTO_EVENT_REQUEST_DONE, or fork the session"
    );
    Session fork(game, "fork", R"(, "from": "mara")"); // a fork of the stored turns
    CHECK(fork.lines().empty());
    const auto beside = other.say("three");
    const auto forked = fork.say("four");
    held.gate.open();
    CHECK(said(game.finish(first)) == "one");
    CHECK(said(game.finish(beside)) == "three");
    CHECK(said(game.finish(forked)) == "four");
    CHECK(mara.lines() == Lines{"user: one", "assistant: one"});
    CHECK(fork.lines() == Lines{"user: four", "assistant: four"});
    CHECK(mara.turn("five") == "five");
}

TEST_CASE("a session closed during an answer is gone, and the answer continues") {
    Held held;
    Game game(held.backend.table());
    game.have("npc");
    Session mara(game, "mara", kModel);
    held.gate.shut();
    const auto request = mara.say("one two");
    REQUIRE(held.gate.holds());
    mara.close();
    Session again(game, "mara", kModel); // another session with that name
    const auto next = again.say("three");
    held.gate.open();
    CHECK(said(game.finish(request)) == "one two");
    CHECK(said(game.finish(next)) == "three");
    CHECK(again.lines() == Lines{"user: three", "assistant: three"});
}

TEST_CASE("an engine is destroyed while its sessions answer") {
    Held held;
    Game game(held.backend.table());
    game.have("npc", R"({"tokens": ["a"], "loop": true})");
    for (int i = 0; i < 8; ++i) {
        Session(game, std::to_string(i), kModel).say("hi");
    }
    held.gate.shut();
    REQUIRE(held.gate.holds());
    held.gate.open();
    game.end();
}

TEST_CASE("saving a session's state adds no message") {
    Game game;
    game.have("npc", R"({"fingerprint": "{\"model\": \"a\"}"})");
    Session mara(game, "mara", kModel + R"(, "messages": [{"role": "system", "content": "be kind"}])");
    const auto nowhere = about("mara", R"(, "path": "/nowhere/at all")");
    CHECK(
        done(game.finish(game.submit(nowhere, {}, SOTTO_OP_SAVE_STATE))).status < 0
    ); // once the request was processed
    CHECK(mara.lines() == Lines{"system: be kind"});
    CHECK(mara.turn("one") == "one");
}

TEST_CASE("invalid fields in a session are refused by path") {
    Game game;
    game.have("npc");
    Session empty(game, "empty");
    Session mara(game, "mara", kModel + R"(, "messages": [{"role": "user", "content": "hi"}])");
    struct Refused {
        std::string more;
        sotto_status status;
        std::string why;
    };
    const std::vector<Refused> all = {
        {R"(, "session": "nobody")", SOTTO_ERROR_NOT_FOUND, "session 'nobody' is not open: open it first"},
        {R"(, "session": 3)",
         SOTTO_ERROR_ARGUMENT,
         "invalid session '3': expected a string of 1 to 128 bytes"},
        {R"(, "session": "mara", "n": 2)",
         SOTTO_ERROR_ARGUMENT,
         "invalid n '2': expected 1 in a session; fork the session for other answers"},
        {R"(, "session": "mara", "continue_final_message": true)",
         SOTTO_ERROR_ARGUMENT,
         "invalid continue_final_message 'true': expected false unless the last message in session 'mara' is "
         "the assistant's, its content a string, without tool_calls"},
        {R"(, "session": "mara", "messages": [{"role": "user"}])",
         SOTTO_ERROR_ARGUMENT,
         "missing messages[0].content: expected a string or an array of parts"},
        {R"(, "session": "mara", "messages": 7)",
         SOTTO_ERROR_ARGUMENT,
         "invalid messages '7': expected an array of messages"},
        {R"(, "session": "empty")",
         SOTTO_ERROR_ARGUMENT,
         "missing messages: expected at least one message, because session 'empty' has no messages"},
    };
    for (const auto& one : all) {
        CAPTURE(one.more);
        const auto& last = done(game.finish(game.submit(R"({"model": "npc")" + one.more + "}")));
        CHECK(last.status == one.status);
        CHECK(last.error == one.why);
    }
    const auto nameless = about("empty", R"(, "messages": [{"role": "user", "content": "a"}])");
    const auto& no_model = done(game.finish(game.submit(nameless)));
    CHECK(no_model.status == SOTTO_ERROR_ARGUMENT);
    CHECK(
        no_model.error ==
        "missing model: expected the id of a loaded model, because session 'empty' has no model"
    );
    const auto gap = R"({"model": "npc", "input_prefix": "a", "input_suffix": "b", "session": "mara"})";
    CHECK(
        done(game.finish(game.submit(gap, {}, SOTTO_OP_INFILL))).error ==
        "invalid session 'mara': expected no session outside of chats and completions; remove the field"
    );
    CHECK(mara.lines() == Lines{"user: hi"});
    CHECK(said(game.finish(game.submit(about("mara")))) == "hi"); // and the session is free
}
