// KV cache states in memory: sotto/state.h.
#include <string>
#include <string_view>

#include <doctest/doctest.h>

#include "core/state/state_blob.hpp"
#include "support/folder.hpp"
#include "support/game.hpp"
#include "support/session.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

const std::string kFits = R"({"model":"a1","kv_type":"f16"})";
const std::string kScript = R"({"tokens": ["a"], "token_ids": true, "prompt_tokens": 3,)"
                            R"( "fingerprint": "{\"model\":\"a1\",\"kv_type\":\"f16\"}"})";
const std::string kState = sotto::state_blob(kFits, "remembered");

History read(Game& game, std::string_view session) {
    sotto_request request = 0;
    REQUIRE(sotto_engine_read_state(game.engine(), str(session), 0, &request) == SOTTO_OK);
    return game.finish(request);
}

History restore(Game& game, std::string_view state, std::string_view model = "npc") {
    sotto_request request = 0;
    const auto status = sotto_engine_restore_state(game.engine(), str(model), str(state), 0, &request);
    REQUIRE_MESSAGE(status == SOTTO_OK, last_error());
    return game.finish(request);
}

// Checks that a state is refused, and returns the error.
std::string refusal(Game& game, std::string_view state) {
    const auto last = done(restore(game, state));
    CHECK(last.status == SOTTO_ERROR_MODEL);
    CHECK(last.json.empty());
    return last.error;
}

} // namespace

TEST_CASE("the state of a session is read, and restored, without a file") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc", kScript);
    const Session mara(game, "mara", R"(, "model": "npc", "messages": [{"role": "user", "content": "hi"}])");
    const auto history = read(game, "mara");
    REQUIRE_MESSAGE(done(history).status == SOTTO_OK, done(history).error);
    REQUIRE(history.size() == 3);
    CHECK(history[0].kind == SOTTO_EVENT_ACCEPTED);
    CHECK(history[1].kind == SOTTO_EVENT_DATA);
    CHECK(history[1].data == kState);
    const Json told = {{"tokens", 3}, {"bytes", kState.size()}};
    CHECK(Json::parse(history[1].json) == told);
    CHECK(Json::parse(done(history).json) == told);
    CHECK(Json::parse(backend.bodies().back())["add_generation_prompt"] == false);

    const auto restored = restore(game, history[1].data);
    REQUIRE_MESSAGE(done(restored).status == SOTTO_OK, done(restored).error);
    CHECK(restored.size() == 2); // ACCEPTED and DONE
    CHECK(Json::parse(done(restored).json) == told);
}

TEST_CASE("the state of a token session, and of a prompt without a session") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc", kScript);
    const Session raw(game, "raw", R"(, "model": "npc", "tokens": [5, 6])");
    auto history = read(game, "raw");
    REQUIRE_MESSAGE(done(history).status == SOTTO_OK, done(history).error);
    CHECK(history[1].data == kState);
    CHECK(Json::parse(backend.bodies().back())["prompt"] == Json::parse("[5, 6]"));
    const auto longer = about("raw", R"(, "prompt": [7])");
    history = game.finish(game.submit(longer, {}, SOTTO_OP_SAVE_STATE));
    CHECK(history[1].data == kState);
    CHECK(Json::parse(backend.bodies().back())["prompt"] == Json::parse("[5, 6, 7]"));
    const auto prompt = R"({"model": "npc", "prompt": "once"})";
    CHECK(game.finish(game.submit(prompt, {}, SOTTO_OP_SAVE_STATE))[1].data == kState);
    const Session mara(game, "mara", R"(, "model": "npc")");
    const auto wrong = about("mara", R"(, "prompt": [7])");
    CHECK(done(game.finish(game.submit(wrong, {}, SOTTO_OP_SAVE_STATE))).status == SOTTO_ERROR_ARGUMENT);
}

TEST_CASE("a state in memory and one in a file are the same") {
    const Folder folder;
    Game game;
    game.have("npc", kScript);
    const auto path = test::quoted((folder.path() / "a.state").string());
    const auto body = R"({"model": "npc", "prompt": "once", "path": )" + path + "}";
    CHECK(done(game.finish(game.submit(body, {}, SOTTO_OP_SAVE_STATE))).status == SOTTO_OK);
    const auto from = R"({"model": "npc", "path": )" + path + "}";
    const auto told = done(game.finish(game.submit(from, {}, SOTTO_OP_RESTORE_STATE)));
    CHECK(Json::parse(told.json)["bytes"] == kState.size());
}

TEST_CASE("a state that is damaged, cut off or of another model is refused") {
    Game game;
    game.have("npc", kScript);
    for (std::size_t size = 1; size < kState.size(); ++size) {
        CHECK_FALSE(refusal(game, kState.substr(0, size)).empty());
    }
    for (std::size_t at = 0; at < kState.size(); ++at) {
        auto damaged = kState;
        damaged[at] = static_cast<char>(damaged[at] ^ (1 << at % 8));
        CHECK_FALSE(refusal(game, damaged).empty());
    }
    CHECK(refusal(game, kState + "x") == "the state is damaged: 1 bytes follow its end; save it again");
    const auto other = sotto::state_blob(R"({"model":"b2","kv_type":"f16"})", "remembered");
    CHECK(refusal(game, other) == "the state has model 'b2': expected 'a1'; save it again");
    CHECK(done(restore(game, kState)).status == SOTTO_OK);
}

TEST_CASE("what cannot be read or restored is reported") {
    Game game;
    game.have("npc", kScript);
    game.have("plain", "{}");
    const Session raw(game, "raw", R"(, "model": "plain", "tokens": [5])");
    const Session empty(game, "empty", R"(, "model": "npc", "tokens": [])");
    const Session mara(game, "mara", R"(, "model": "npc")");
    const Session gone(game, "gone", R"(, "model": "none", "tokens": [5])");
    CHECK(done(read(game, "nobody")).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(done(read(game, "gone")).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(done(read(game, "empty")).status == SOTTO_ERROR_ARGUMENT);
    CHECK(done(read(game, "mara")).status == SOTTO_ERROR_ARGUMENT);
    const std::string unsupported =
        "state: backend 'scripted' does not support saved states; use another model";
    CHECK(done(restore(game, kState, "plain")).error == unsupported);
    CHECK(done(restore(game, kState, "none")).status == SOTTO_ERROR_NOT_FOUND);
    const auto pathless = game.submit(R"({"model": "npc"})", {}, SOTTO_OP_RESTORE_STATE);
    CHECK(done(game.finish(pathless)).error.find("missing path: expected the file") == 0);

    auto* engine = game.engine();
    sotto_request request = 7;
    CHECK(sotto_engine_restore_state(engine, str("npc"), {}, 0, &request) == SOTTO_ERROR_ARGUMENT);
    CHECK(request == 0);
    CHECK(last_error() == "missing state: expected the bytes of sotto_engine_read_state()");
    CHECK(sotto_engine_restore_state(engine, {}, str(kState), 0, &request) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_engine_restore_state(engine, str("npc"), str(kState), 64, &request) < 0);
    CHECK(sotto_engine_read_state(engine, {}, 0, &request) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_engine_read_state(engine, str("raw"), 0, nullptr) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_engine_read_state(nullptr, str("raw"), 0, &request) == SOTTO_ERROR_ARGUMENT);
}

TEST_CASE("a private request delivers a state") {
    Game game;
    game.have("npc", kScript);
    const Session raw(game, "raw", R"(, "model": "npc", "tokens": [5])");
    sotto_request request = 0;
    REQUIRE(sotto_engine_read_state(game.engine(), str("raw"), SOTTO_REQUEST_PRIVATE, &request) == SOTTO_OK);
    CHECK(game.finish_private(request)[1].data == kState);
}
