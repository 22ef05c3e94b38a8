// Token sessions: completions that go on with the same tokens, and edits of these tokens.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "core/session/token_run.hpp"
#include "support/game.hpp"
#include "support/session.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

const std::string kScript = R"({"token_ids": true, "tokens": ["a", "b", "c"]})"; // ids 0, 1, 2
const std::string kEmpty = R"(, "model": "npc", "tokens": [])";

using Tokens = std::vector<std::int32_t>;

// Completes a session's tokens. Returns the last event.
Told complete(Game& game, std::string_view id, std::string_view prompt, std::string_view more = "") {
    const auto body = about(id, R"(, "prompt": )" + std::string(prompt) + std::string(more));
    return done(game.finish(game.submit(body, {}, SOTTO_OP_COMPLETION)));
}

Told edit(Game& game, std::string_view id, std::string_view more) {
    return asked(game, SOTTO_OP_EDIT_SESSION, about(id, R"(, "action": )" + std::string(more)));
}

Tokens tokens(Game& game, std::string_view id) {
    const auto told = asked(game, SOTTO_OP_READ_SESSION, about(id));
    REQUIRE_MESSAGE(told.status == SOTTO_OK, told.error);
    return Json::parse(told.json)["tokens"].get<Tokens>();
}

Tokens prompt_of(const TappedBackend& backend) {
    return Json::parse(backend.bodies().back())["prompt"].get<Tokens>();
}

sotto::TokenRun run_of(const Tokens& tokens) {
    sotto::TokenRun run;
    run.append(tokens);
    return run;
}

} // namespace

TEST_CASE("a completion goes on with the tokens of its session") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc", kScript);
    Session raw(game, "raw", kEmpty);
    CHECK(complete(game, "raw", "[7, 8]").status == SOTTO_OK);
    CHECK(prompt_of(backend) == Tokens{7, 8});
    CHECK(tokens(game, "raw") == Tokens{7, 8, 0, 1, 2});
    CHECK(complete(game, "raw", "[9]", R"(, "max_tokens": 1, "temperature": 0)").status == SOTTO_OK);
    CHECK(backend.bodies().back() == R"({"prompt":[7,8,0,1,2,9],"max_tokens":1,"temperature":0})");
    CHECK(tokens(game, "raw") == Tokens{7, 8, 0, 1, 2, 9, 0});
    CHECK(complete(game, "raw", "[]", R"(, "max_tokens": 2)").status == SOTTO_OK); // goes on without a prompt
    CHECK(tokens(game, "raw") == Tokens{7, 8, 0, 1, 2, 9, 0, 0, 1});
}

TEST_CASE("a response has the ids of its tokens only on request") {
    Game game;
    game.have("npc", kScript);
    Session raw(game, "raw", kEmpty);
    CHECK(complete(game, "raw", "[7]").json.find("\"tokens\"") == std::string::npos);
    const auto told = Json::parse(complete(game, "raw", "[7]", R"(, "return_tokens": true)").json);
    CHECK(told["choices"][0]["tokens"] == Json::parse("[0, 1, 2]"));
}

TEST_CASE("a completion that fails or is cancelled leaves its session unchanged and free") {
    Held held;
    Game game(held.backend.table());
    game.have("npc", kScript);
    game.have("ill", R"({"token_ids": true, "tokens": ["a", "b"], "fail_at": 1})");
    Session raw(game, "raw", R"(, "model": "npc", "tokens": [5])");
    CHECK(complete(game, "raw", "[7]", R"(, "model": "ill")").status < 0);
    held.gate.shut();
    const auto cut = game.submit(about("raw", R"(, "prompt": [7])"), {}, SOTTO_OP_COMPLETION);
    REQUIRE(held.gate.holds());
    CHECK(complete(game, "raw", "[8]").status == SOTTO_ERROR_BUSY);
    CHECK(edit(game, "raw", R"("cut", "from": 0)").status == SOTTO_ERROR_BUSY);
    CHECK(edit(game, "raw", R"("read")").status == SOTTO_OK);
    CHECK(edit(game, "raw", R"("copy", "to_session": "copy")").status == SOTTO_OK);
    CHECK(tokens(game, "copy") == Tokens{5});
    game.cancel(cut);
    CHECK(done(game.finish(cut)).status == SOTTO_ERROR_CANCELLED);
    held.gate.open();
    CHECK(tokens(game, "raw") == Tokens{5});
    CHECK(complete(game, "raw", "[8]").status == SOTTO_OK);
    CHECK(tokens(game, "raw") == Tokens{5, 8, 0, 1, 2});
}

TEST_CASE("tokens are cut, shifted and read") {
    Game game;
    game.have("npc", kScript);
    Session raw(game, "raw", R"(, "model": "npc", "tokens": [10, 11, 12, 13, 14])");
    const auto told = [&](std::string_view more) { return Json::parse(edit(game, "raw", more).json); };
    const auto with = [](int count, int end) {
        return Json{
            {"object", "session"}, {"session", "raw"}, {"model", "npc"}, {"tokens", count}, {"end", end}
        };
    };
    CHECK(told(R"("read")") == with(5, 4));
    CHECK(told(R"("cut", "from": 4, "to": -1)") == with(4, 3));
    CHECK(told(R"("cut", "from": 1, "to": 2)") == with(3, 3)); // leaves a gap
    const auto refused = complete(game, "raw", "[7]");
    CHECK(refused.status == SOTTO_ERROR_STATE);
    CHECK(
        refused.error == "session 'raw' has no token at position 1: close the gap with action shift, or cut "
                         "what follows it"
    );
    CHECK(told(R"("shift", "from": 2, "to": -1, "delta": -1)") == with(3, 2));
    CHECK(complete(game, "raw", "[7]").status == SOTTO_OK);
    CHECK(tokens(game, "raw") == Tokens{10, 12, 13, 7, 0, 1, 2});
    CHECK(told(R"("shift", "delta": 100)") == with(7, 106)); // no gap: positions are relative
    CHECK(complete(game, "raw", "[8]", R"(, "max_tokens": 1)").status == SOTTO_OK);
    CHECK(told(R"("read")") == with(9, 108));
    CHECK(told(R"("cut")") == with(0, -1));
}

TEST_CASE("tokens are copied to another session, and forked") {
    Game game;
    game.have("npc", kScript);
    Session raw(game, "raw", R"(, "model": "npc", "tokens": [10, 11, 12, 13])");
    const auto copied = edit(game, "raw", R"("copy", "to_session": "copy", "to": 2)");
    CHECK(Json::parse(copied.json)["session"] == "copy");
    CHECK(tokens(game, "copy") == Tokens{10, 11});
    CHECK(complete(game, "copy", "[7]").status == SOTTO_OK); // with the model of its origin
    CHECK(edit(game, "raw", R"("copy", "to_session": "copy", "from": 1)").status == SOTTO_OK);
    CHECK(tokens(game, "copy") == Tokens{11, 12, 13});
    Session fork(game, "fork", R"(, "from": "raw", "keep": 3)");
    CHECK(tokens(game, "fork") == Tokens{10, 11, 12});
    CHECK(edit(game, "fork", R"("cut", "from": 1)").status == SOTTO_OK);
    CHECK(tokens(game, "raw") == Tokens{10, 11, 12, 13});
}

TEST_CASE("a session holds messages or tokens, not both") {
    Game game;
    game.have("npc", kScript);
    Session raw(game, "raw", R"(, "model": "npc", "tokens": [1])");
    Session mara(game, "mara", R"(, "model": "npc", "messages": [{"role": "user", "content": "hi"}])");
    const auto status = [&](const Told& told, const char* why) {
        CHECK(told.status == SOTTO_ERROR_ARGUMENT);
        CHECK_MESSAGE(told.error.find(why) != std::string::npos, told.error);
    };
    const auto holds_tokens = "invalid session 'raw': expected a session with messages, but it holds tokens";
    const auto holds_messages = "invalid session 'mara': expected a token session, but it holds messages";
    status(done(game.finish(raw.say("hi"))), holds_tokens);
    status(edit(game, "raw", R"("rewind")"), holds_tokens);
    status(asked(game, SOTTO_OP_CHANGE_SESSION, about("raw", R"(, "system": "be kind")")), holds_tokens);
    status(complete(game, "mara", "[1]"), holds_messages);
    status(edit(game, "mara", R"("read")"), holds_messages);
    status(edit(game, "raw", R"("copy", "to_session": "mara")"), holds_messages);
    status(
        asked(game, SOTTO_OP_OPEN_SESSION, about("b", R"(, "tokens": [1], "system": "be kind")")),
        "invalid system 'be kind': expected no value beside tokens"
    );
    status(
        asked(game, SOTTO_OP_OPEN_SESSION, about("b", R"(, "from": "raw", "system": "be kind")")),
        holds_tokens
    );
    CHECK(tokens(game, "raw") == Tokens{1});
    CHECK(mara.lines() == Lines{"user: hi"});
}

TEST_CASE("invalid edits of tokens are refused by path and change nothing") {
    Game game;
    game.have("npc", kScript);
    game.have("mute"); // reports no tokens
    Session raw(game, "raw", R"(, "model": "npc", "tokens": [1, 2, 3])");
    Session none(game, "none", kEmpty);
    const auto check = [&](std::string_view more, const char* why) {
        CAPTURE(more);
        const auto told = edit(game, "raw", more);
        CHECK(told.status == SOTTO_ERROR_ARGUMENT);
        CHECK(told.error == why);
        CHECK(tokens(game, "raw") == Tokens{1, 2, 3});
    };
    check(R"("cut", "from": 4)", "invalid from '4': expected 0 to 3");
    check(R"("cut", "from": 2, "to": 1)", "invalid from '2': expected 0 to 1");
    check(R"("cut", "to": 4)", "invalid to '4': expected -1 for the end, or 0 to 3, the end");
    check(R"("cut", "from": -1)", "invalid from '-1': expected an integer from 0 to 2147483647");
    check(R"("cut", "from": "raw")", "invalid from 'raw': expected an integer from 0 to 2147483647");
    check(R"("copy")", "missing to_session: expected the id of the session that takes the tokens");
    check(R"("shift")", "missing delta: expected the number to add to the positions");
    check(
        R"("shift", "from": 1, "delta": -1)",
        "invalid delta '-1': expected 0 to 2147483644, so that the tokens keep their order; cut the tokens "
        "in "
        "between first"
    );
    CHECK(complete(game, "none", "[]").error.starts_with("missing prompt: expected at least one token"));
    CHECK(complete(game, "none", R"("text")").error == "invalid prompt 'text': expected an array of tokens");
    CHECK(
        complete(game, "none", "[1]", R"(, "suffix": "b")").error ==
        "invalid suffix 'b': expected no value in a session; remove the field"
    );
    CHECK(complete(game, "none", "[1]", R"(, "model": "mute")").status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(complete(game, "nobody", "[1]").status == SOTTO_ERROR_NOT_FOUND);
    CHECK(tokens(game, "none").empty());
}

TEST_CASE("positions of tokens ascend, whatever is cut and shifted") {
    auto run = run_of({1, 2, 3, 4});
    CHECK(run.end() == 3);
    run.shift({2, -1}, 5);
    CHECK(run.positions() == Tokens{0, 1, 7, 8});
    CHECK(run.gap() == 2);
    CHECK_THROWS_AS(run.shift({0, 2}, 6), sotto::Error);
    run.shift({0, 2}, 5);
    CHECK(run.positions() == Tokens{5, 6, 7, 8});
    CHECK(!run.gap());
    CHECK_THROWS_AS(run.shift({}, -6), sotto::Error);
    CHECK_THROWS_AS(run.shift({}, INT32_MAX), sotto::Error);
    CHECK(run.part({6, 8}).tokens() == Tokens{2, 3});
    run.cut({0, 6});
    CHECK(run.tokens() == Tokens{2, 3, 4});
    run.keep(9);
    CHECK(run.size() == 3);
    run.shift({}, INT32_MAX - 1 - run.end());
    CHECK_THROWS_AS(run.append(Tokens{1}), sotto::Error);
    CHECK(run.size() == 3);
    CHECK(!sotto::TokenRun::from({1, 2}, {3, 3}));
    CHECK(!sotto::TokenRun::from({1, 2}, {3}));
    CHECK(!sotto::TokenRun::from({1}, {-1}));
    CHECK(sotto::TokenRun::from({1, 2}, {3, 9})->gap() == 4);
}

TEST_CASE("token sessions are opened and edited without JSON") {
    Game game;
    game.have("npc", kScript);
    auto* engine = game.engine();
    sotto_request request = 0;
    const auto open = [&](std::string_view id, const std::int32_t* all, std::uint32_t count) {
        auto desc = SOTTO_INIT(sotto_session_desc);
        desc.id = str(id);
        desc.model = str("npc");
        desc.tokens = all;
        desc.token_count = count;
        return sotto_engine_open_session(engine, &desc, &request);
    };
    const auto told = [&] { return done(game.finish(request)); };
    const Tokens all = {5, 6, 7, 8};
    REQUIRE(open("raw", all.data(), 4) == SOTTO_OK);
    CHECK(Json::parse(told().json)["tokens"] == 4);
    REQUIRE(open("empty", all.data(), 0) == SOTTO_OK);
    CHECK(Json::parse(told().json)["tokens"] == 0);
    CHECK(open("wrong", nullptr, 1) == SOTTO_ERROR_ARGUMENT);
    CHECK(last_error() == "missing desc->tokens: expected a pointer, not NULL");
    CHECK(open("wrong", all.data(), UINT32_MAX) == SOTTO_ERROR_ARGUMENT);

    REQUIRE(sotto_engine_copy_session(engine, str("raw"), str("copy"), 1, 3, 0, &request) == SOTTO_OK);
    CHECK(Json::parse(told().json)["end"] == 2);
    CHECK(tokens(game, "copy") == Tokens{6, 7});
    REQUIRE(sotto_engine_cut_session(engine, str("raw"), 1, 3, 0, &request) == SOTTO_OK);
    CHECK(Json::parse(told().json)["end"] == 3);
    REQUIRE(sotto_engine_shift_session(engine, str("raw"), 3, -1, -2, 0, nullptr) == SOTTO_OK);
    CHECK(tokens(game, "raw") == Tokens{5, 8});
    CHECK(complete(game, "raw", "[9]", R"(, "max_tokens": 1)").status == SOTTO_OK); // no gap is left
    REQUIRE(sotto_engine_cut_session(engine, str("raw"), 1, -1, 0, nullptr) == SOTTO_OK);
    CHECK(tokens(game, "raw") == Tokens{5});

    REQUIRE(sotto_engine_cut_session(engine, str("raw"), 0, 9, 0, &request) == SOTTO_OK);
    CHECK(told().error == "invalid to '9': expected -1 for the end, or 0 to 1, the end");
    REQUIRE(sotto_engine_shift_session(engine, str("none"), 0, -1, 1, 0, &request) == SOTTO_OK);
    CHECK(told().status == SOTTO_ERROR_NOT_FOUND);
    CHECK(sotto_engine_cut_session(engine, {}, 0, -1, 0, &request) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_engine_copy_session(engine, str("raw"), {}, 0, -1, 0, &request) == SOTTO_ERROR_ARGUMENT);
    REQUIRE(sotto_engine_cut_session(engine, str("raw"), -5, -1, 0, &request) == SOTTO_OK);
    CHECK(told().status == SOTTO_ERROR_ARGUMENT);
}
