// Slots of a model by number: requests that name one, and the list, save, restore and erase of slots.
#include <filesystem>
#include <string>

#include <doctest/doctest.h>

#include "support/folder.hpp"
#include "support/game.hpp"
#include "text/json_reader.hpp"

using namespace test;
using sotto::Json;

namespace {

constexpr const char* kScript =
    R"({"tokens": ["a", "b"], "prompt_tokens": 7, "streams": 2, "slots": true, "fingerprint": "f"})";
constexpr const char* kEndless =
    R"({"tokens": ["a"], "loop": true, "token_ms": 1, "prompt_tokens": 7, "streams": 2, "slots": true,
        "fingerprint": "f", "parkable": true})";

std::string body_of(const std::string& more) {
    return R"({"model": "npc")" + more + "}";
}

Told slots(Game& game, const std::string& more = "") {
    return done(game.finish(game.submit(body_of(more), {}, SOTTO_OP_SLOTS)));
}

Json response_of(Game& game, const std::string& more) {
    return Json::parse(done(game.finish(game.ask("npc", "hi", {.more = more}))).json);
}

std::string in_json(const std::filesystem::path& path) {
    return test::quoted(path.string());
}

} // namespace

TEST_CASE("a request gets the slot that it names, and reuses what that slot holds") {
    Game game;
    game.have("npc", kScript);
    for (const int slot : {1, 0, 1}) {
        const auto response = response_of(game, R"(, "id_slot": )" + std::to_string(slot));
        CHECK(response["id_slot"] == slot);
    }
    CHECK(response_of(game, R"(, "id_slot": 1)")["timings"]["cache_n"] == 7);
    CHECK(response_of(game, R"(, "id_slot": -1)").contains("id_slot"));
}

TEST_CASE("a slot that does not exist, or several answers in one slot, are refused") {
    Game game;
    game.have("npc", kScript);
    const auto error = [&](const std::string& more) {
        const auto& last = done(game.finish(game.ask("npc", "hi", {.more = more})));
        CHECK(last.status == SOTTO_ERROR_ARGUMENT);
        return last.error;
    };
    CHECK(
        error(R"(, "id_slot": 2)") ==
        "invalid id_slot '2': expected the number of a slot, 0 to 1; use another "
        "slot, or load the model with more (options.parallel)"
    );
    CHECK(error(R"(, "id_slot": 0, "n": 2)").find("invalid id_slot '0': expected -1") == 0);
    CHECK(error(R"(, "id_slot": -2)").find("invalid id_slot '-2'") == 0);
    CHECK(slots(game, R"(, "action": "erase")").error == "missing id_slot: expected the number of a slot");
    CHECK(slots(game, R"(, "action": "erase", "id_slot": -1)").status == SOTTO_ERROR_ARGUMENT);
    CHECK(slots(game, R"(, "action": "save", "id_slot": 0)").error.find("missing path") == 0);
    CHECK(slots(game, R"(, "action": "drop")").error.find("invalid action 'drop'") == 0);
    CHECK(slots(game, R"(, "action": "erase", "id_slot": 9)").status == SOTTO_ERROR_ARGUMENT);
}

TEST_CASE("a backend without numbers of slots refuses them") {
    Game game;
    game.have("npc", "{}");
    CHECK(slots(game).status == SOTTO_ERROR_UNSUPPORTED);
    const auto& last = done(game.finish(game.ask("npc", "hi", {.more = R"(, "id_slot": 0)"})));
    CHECK(last.status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(last.error.find("id_slot: backend 'scripted' does not number its slots") == 0);
}

TEST_CASE("the list has the requests and sessions that use slots") {
    Game game;
    game.have("npc", kEndless);
    const auto idle = Json::parse(slots(game).json)["slots"];
    REQUIRE(idle.size() == 2);
    CHECK(idle[1]["id"] == 1);
    CHECK(idle[1]["is_processing"] == false);
    CHECK(idle[1]["session"].is_null());
    CHECK(idle[1]["request"].is_null());
    CHECK(idle[1]["n_tokens"] == 0);
    game.finish(game.submit(R"({"session": "mara", "model": "npc"})", {}, SOTTO_OP_OPEN_SESSION));
    const auto request = game.ask("npc", "hi", {.more = R"(, "id_slot": 1, "session": "mara")"});
    game.until_told(request, SOTTO_EVENT_TEXT);
    const auto busy = Json::parse(slots(game).json)["slots"];
    CHECK(busy[0]["is_processing"] == false);
    CHECK(busy[1]["is_processing"] == true);
    CHECK(busy[1]["session"] == "mara");
    CHECK(busy[1]["request"] == request);
    game.cancel(request);
    game.finish(request);
    const auto after = Json::parse(slots(game).json)["slots"];
    CHECK(after[1]["is_processing"] == false);
    CHECK(after[1]["n_tokens"] == 7);
}

TEST_CASE("a request waits for the slot that it names, while others go on") {
    Game game;
    game.have("npc", kEndless);
    const auto first = game.ask("npc", "hi", {.more = R"(, "id_slot": 1)"});
    game.until_told(first, SOTTO_EVENT_TEXT);
    const auto second = game.ask("npc", "hi", {.more = R"(, "id_slot": 1, "max_tokens": 2)"});
    const auto other = game.ask("npc", "hi", {.more = R"(, "max_tokens": 2)"});
    CHECK(Json::parse(done(game.finish(other)).json)["id_slot"] == 0);
    CHECK(count(game.of(second), SOTTO_EVENT_TEXT) == 0);
    game.cancel(first);
    CHECK(Json::parse(done(game.finish(second)).json)["id_slot"] == 1);
    CHECK(done(game.finish(first)).status == SOTTO_ERROR_CANCELLED);
}

TEST_CASE("a request that waits for a slot can be cancelled") {
    Game game;
    game.have("npc", kEndless);
    const auto first = game.ask("npc", "hi", {.more = R"(, "id_slot": 0)"});
    game.until_told(first, SOTTO_EVENT_TEXT);
    const auto second = game.ask("npc", "hi", {.more = R"(, "id_slot": 0)"});
    game.until_told(second, SOTTO_EVENT_ACCEPTED);
    slots(game); // its stream has been considered
    game.cancel(second);
    CHECK(done(game.finish(second)).status == SOTTO_ERROR_CANCELLED);
    game.cancel(first);
    game.finish(first);
    CHECK(response_of(game, R"(, "id_slot": 0, "max_tokens": 1)")["id_slot"] == 0);
}

TEST_CASE("a slot is erased, and the next request in it has nothing cached") {
    Game game;
    game.have("npc", kScript);
    response_of(game, R"(, "id_slot": 1)");
    const auto erased = Json::parse(slots(game, R"(, "action": "erase", "id_slot": 1)").json);
    CHECK(erased == Json{{"id_slot", 1}, {"n_erased", 7}});
    CHECK(response_of(game, R"(, "id_slot": 1)")["timings"]["cache_n"] == 0);
}

TEST_CASE("a slot is saved to a file, and restored from it into another slot") {
    const Folder folder;
    const auto path = folder.path() / "slot.state";
    const auto at = R"(, "path": )" + in_json(path);
    Game game;
    game.have("npc", kScript);
    response_of(game, R"(, "id_slot": 1)");
    const auto saved = Json::parse(slots(game, R"(, "action": "save", "id_slot": 1)" + at).json);
    CHECK(saved["id_slot"] == 1);
    CHECK(saved["n_saved"] == 7);
    CHECK(saved["n_written"] == std::filesystem::file_size(path));
    const auto restored = Json::parse(slots(game, R"(, "action": "restore", "id_slot": 0)" + at).json);
    CHECK(restored["id_slot"] == 0);
    CHECK(restored["n_restored"] == 7);
    CHECK(restored["n_read"] == saved["n_written"]);
    CHECK(response_of(game, R"(, "id_slot": 0)")["timings"]["cache_n"] == 7);

    const auto missing = R"(, "path": )" + in_json(folder.path() / "none");
    CHECK(slots(game, R"(, "action": "restore", "id_slot": 0)" + missing).status == SOTTO_ERROR_NOT_FOUND);
    game.have("other", R"({"slots": true, "fingerprint": "g"})");
    const auto& wrong = done(game.finish(
        game.submit(R"({"model": "other", "action": "restore", "id_slot": 0)" + at + "}", {}, SOTTO_OP_SLOTS)
    ));
    CHECK(wrong.status == SOTTO_ERROR_MODEL);
}

TEST_CASE("the slot of a running request can be neither saved, restored nor erased") {
    const Folder folder;
    const auto at = R"(, "path": )" + in_json(folder.path() / "slot.state");
    Game game;
    game.have("npc", kEndless);
    response_of(game, R"(, "id_slot": 0, "max_tokens": 1)");
    REQUIRE(slots(game, R"(, "action": "save", "id_slot": 0)" + at).status == SOTTO_OK);
    const auto request = game.ask("npc", "hi", {.more = R"(, "id_slot": 0)"});
    game.until_told(request, SOTTO_EVENT_TEXT);
    for (const char* action : {"save", "restore", "erase"}) {
        const auto more = R"(, "id_slot": 0, "action": ")" + std::string(action) + "\"" + at;
        CHECK(slots(game, more).status == SOTTO_ERROR_BUSY);
    }
    CHECK(slots(game, R"(, "action": "erase", "id_slot": 1)").status == SOTTO_OK);
}
