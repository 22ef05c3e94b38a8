// LoRA adapters: which requests use them, and when they are freed.
#include <limits>
#include <string>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "support/game.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

constexpr const char* kScript = R"({"adapters": true, "tokens": ["a", "b"], "adapter_bytes": 1000})";
constexpr const char* kSlow =
    R"({"adapters": true, "tokens": ["a", "b", "c", "d", "e", "f"], "token_ms": 10, "adapter_bytes": 1000})";

sotto_request load_adapter(Game& game, const char* path, const char* name = "", float scale = 0) {
    sotto_adapter_desc desc = SOTTO_INIT(sotto_adapter_desc);
    desc.model = str("npc");
    desc.name = str(name);
    desc.path = str(path);
    desc.scale = scale;
    sotto_request request = 0;
    REQUIRE(sotto_engine_load_adapter(game.engine(), &desc, &request) == SOTTO_OK);
    return request;
}

sotto_status loads(Game& game, const char* path, const char* name = "", float scale = 0) {
    return done(game.finish(load_adapter(game, path, name, scale))).status;
}

sotto_status unloads(Game& game, const char* name = "") {
    sotto_request request = 0;
    REQUIRE(sotto_engine_unload_adapter(game.engine(), str("npc"), str(name), 0, &request) == SOTTO_OK);
    return done(game.finish(request)).status;
}

sotto_status scales(Game& game, float scale, const char* name = "") {
    sotto_request request = 0;
    REQUIRE(
        sotto_engine_set_adapter_scale(game.engine(), str("npc"), str(name), scale, 0, &request) == SOTTO_OK
    );
    return done(game.finish(request)).status;
}

std::string answer(Game& game, const char* more = "") {
    return said(game.finish(game.ask("npc", "hi", {.more = more})));
}

nlohmann::json listed(Game& game) {
    sotto_str text{};
    REQUIRE(sotto_engine_list_models(game.engine(), &text) == SOTTO_OK);
    return nlohmann::json::parse(text_of(text)).at(0).at("adapters");
}

std::uint64_t adapter_bytes(Game& game) {
    sotto_str text{};
    REQUIRE(sotto_engine_memory(game.engine(), &text) == SOTTO_OK);
    return nlohmann::json::parse(text_of(text)).at("uses").at("adapter").at("used").get<std::uint64_t>();
}

} // namespace

TEST_CASE("the default adapter applies to all requests, other adapters to requests that name them") {
    Game game;
    game.have("npc", kScript);
    CHECK(answer(game) == "ab");
    CHECK(loads(game, "pirate", "pirate") == SOTTO_OK);
    CHECK(answer(game) == "ab");
    CHECK(answer(game, R"(, "lora": [{"name": "pirate"}])") == "<pirate*1>ab");
    CHECK(loads(game, "house", "", 0.5F) == SOTTO_OK);
    CHECK(answer(game) == "<house*0.5>ab");
    CHECK(answer(game, R"(, "lora": [])") == "ab");
    CHECK(answer(game, R"(, "lora": null)") == "<house*0.5>ab");
    const char* both = R"(, "lora": [{"name": "default", "scale": 2}, {"name": "pirate", "scale": -0.5}])";
    CHECK(answer(game, both) == "<pirate*-0.5><house*2>ab");
    CHECK(
        listed(game).dump() == R"([{"bytes":1000,"name":"pirate","path":"pirate","scale":1.0},)"
                               R"({"bytes":1000,"name":"default","path":"house","scale":0.5}])"
    );
}

TEST_CASE("scale 0 equals no adapter, and a changed scale applies to later requests") {
    Game game;
    game.have("npc", kScript);
    CHECK(loads(game, "house") == SOTTO_OK);
    CHECK(scales(game, 0) == SOTTO_OK);
    CHECK(answer(game) == "ab");
    CHECK(scales(game, 1.5F) == SOTTO_OK);
    CHECK(answer(game) == "<house*1.5>ab");
    CHECK(answer(game, R"(, "lora": [{"name": "default", "scale": 0}])") == "ab");
    CHECK(scales(game, 1, "nobody") == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("an adapter that is unloaded or replaced during an answer is freed after that answer") {
    Game game;
    game.have("npc", kSlow);
    CHECK(loads(game, "house") == SOTTO_OK);
    const auto running = game.ask("npc", "hi");
    game.until_told(running, SOTTO_EVENT_TEXT);
    CHECK(unloads(game) == SOTTO_OK);
    // the unload did not wait for the answer
    CHECK(game.of(running).back().kind != SOTTO_EVENT_REQUEST_DONE);
    CHECK(adapter_bytes(game) == 1000);
    CHECK(answer(game) == "abcdef");
    CHECK(said(game.finish(running)) == "<house*1>abcdef");
    CHECK(game.until([&] { return adapter_bytes(game) == 0; }));
    CHECK(unloads(game) == SOTTO_ERROR_NOT_FOUND);

    CHECK(loads(game, "first") == SOTTO_OK);
    const auto with_first = game.ask("npc", "hi");
    game.until_told(with_first, SOTTO_EVENT_TEXT);
    CHECK(loads(game, "second") == SOTTO_OK);
    CHECK(answer(game) == "<second*1>abcdef");
    CHECK(said(game.finish(with_first)) == "<first*1>abcdef");
    CHECK(game.until([&] { return adapter_bytes(game) == 1000; }));
}

TEST_CASE("streams with different adapters are answered concurrently, but never in one step") {
    Game game; // the script fails a step with both adapters
    game.have("npc", R"({"adapters": true, "tokens": ["a"], "loop": true, "token_ms": 1, "streams": 8})");
    CHECK(loads(game, "x", "x") == SOTTO_OK);
    CHECK(loads(game, "y", "y") == SOTTO_OK);
    const char* bodies[] = {
        R"(, "max_tokens": 60, "lora": [{"name": "x"}])",
        R"(, "max_tokens": 60, "lora": [{"name": "y"}])",
        R"(, "max_tokens": 60, "lora": [{"name": "x", "scale": 0.5}])",
        R"(, "max_tokens": 60)",
    };
    std::vector<sotto_request> requests;
    for (int i = 0; i < 8; ++i) {
        requests.push_back(game.ask("npc", "hi", {.more = bodies[i % 4]}));
    }
    for (const auto request : requests) {
        const auto& history = game.finish(request);
        CHECK(done(history).status == SOTTO_OK);
        CHECK(done(history).tokens == 60);
    }
}

TEST_CASE("a failed load leaves the model and its adapters unchanged") {
    Game game;
    game.have("npc", kScript);
    CHECK(loads(game, "house") == SOTTO_OK);
    const auto& failed = done(game.finish(load_adapter(game, "bad")));
    CHECK(failed.status == SOTTO_ERROR_MODEL);
    CHECK(failed.error == "adapter 'bad' is bad");
    CHECK(answer(game) == "<house*1>ab");
    CHECK(adapter_bytes(game) == 1000);
    const auto& unknown = done(game.finish(game.ask("npc", "hi", {.more = R"(, "lora": [{"name": "x"}])"})));
    CHECK(unknown.status == SOTTO_ERROR_NOT_FOUND);
    CHECK(
        unknown.error == "invalid lora[0].name 'x': expected an adapter of model 'npc' (loaded: default); "
                         "load it first with sotto_engine_load_adapter()"
    );
    game.have("other", R"({"tokens": ["a"]})");
    sotto_adapter_desc desc = SOTTO_INIT(sotto_adapter_desc);
    desc.model = str("other");
    desc.path = str("x");
    sotto_request request = 0;
    CHECK(sotto_engine_load_adapter(game.engine(), &desc, &request) == SOTTO_OK);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_UNSUPPORTED);
    desc.model = str("nobody");
    CHECK(sotto_engine_load_adapter(game.engine(), &desc, &request) == SOTTO_OK);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("arguments out of range are refused at once") {
    Game game;
    sotto_adapter_desc desc = SOTTO_INIT(sotto_adapter_desc);
    sotto_request request = 1;
    CHECK(sotto_engine_load_adapter(game.engine(), &desc, &request) == SOTTO_ERROR_ARGUMENT);
    CHECK(request == 0);
    desc.model = str("npc");
    CHECK(sotto_engine_load_adapter(game.engine(), &desc, &request) == SOTTO_ERROR_ARGUMENT);
    desc.path = str("x");
    desc.scale = std::numeric_limits<float>::quiet_NaN();
    CHECK(sotto_engine_load_adapter(game.engine(), &desc, &request) == SOTTO_ERROR_ARGUMENT);
    CHECK(last_error() == "invalid desc->scale 'nan': expected a number from -1000 to 1000");
    desc.scale = 0;
    const std::string longest(129, 'x');
    desc.name = str(longest);
    CHECK(sotto_engine_load_adapter(game.engine(), &desc, &request) == SOTTO_ERROR_ARGUMENT);
    for (const float scale : {1001.0F, std::numeric_limits<float>::infinity()}) {
        CHECK(
            sotto_engine_set_adapter_scale(game.engine(), str("npc"), str(""), scale, 0, &request) ==
            SOTTO_ERROR_ARGUMENT
        );
    }
}

TEST_CASE("the field lora accepts each adapter once, with a scale in its range") {
    Game game;
    game.have("npc", kScript);
    const auto refused = [&](const char* lora) {
        const auto more = std::string(R"(, "lora": )") + lora;
        return done(game.finish(game.ask("npc", "hi", {.more = more}))).error;
    };
    CHECK(
        refused("3") ==
        "invalid lora '3': expected an array of at most 16 objects with \"name\" and \"scale\""
    );
    CHECK(refused("[{}]") == "missing lora[0].name: expected the name of a loaded adapter");
    CHECK(refused(R"([{"name": ""}])") == "invalid lora[0].name '': expected a string of 1 to 128 bytes");
    CHECK(
        refused(R"([{"name": "a"}, {"name": "a"}])") == "invalid lora[1].name 'a': expected each adapter once"
    );
    CHECK(
        refused(R"([{"name": "a", "scale": 1e9}])") ==
        "invalid lora[0].scale '1000000000.0': expected a number from -1000 to 1000"
    );
}

TEST_CASE("an adapter is charged to the budget, and one that does not fit is refused") {
    auto desc = plain_desc();
    desc.vram_budget = 5000;
    Game game(desc);
    game.have("npc", R"({"adapters": true, "tokens": ["a"], "weights": 3500, "adapter_bytes": 1000})");
    CHECK(loads(game, "one", "one") == SOTTO_OK);
    CHECK(adapter_bytes(game) == 1000);
    CHECK(loads(game, "two", "two") == SOTTO_ERROR_BUDGET);
    CHECK(answer(game, R"(, "lora": [{"name": "one"}])") == "<one*1>a");
    CHECK(unloads(game, "one") == SOTTO_OK);
    CHECK(game.until([&] { return adapter_bytes(game) == 0; }));
    CHECK(loads(game, "two", "two") == SOTTO_OK);
}

TEST_CASE("the adapters of an evicted model are loaded again with it") {
    auto desc = plain_desc();
    desc.vram_budget = 6000;
    Game game(desc);
    game.have("npc", R"({"adapters": true, "tokens": ["a"], "weights": 3000, "adapter_bytes": 1000})");
    CHECK(loads(game, "house") == SOTTO_OK);
    game.have("other", R"({"tokens": ["b"], "weights": 3000})"); // both models do not fit
    CHECK(adapter_bytes(game) == 0);
    CHECK(scales(game, 2) == SOTTO_OK); // changing adapters does not load the evicted model
    CHECK(adapter_bytes(game) == 0);
    CHECK(answer(game) == "<house*2>a");
    CHECK(adapter_bytes(game) == 1000);
    game.finish(game.unload("npc"));
    CHECK(adapter_bytes(game) == 0);
    game.have("npc", kScript); // another model with that id
    CHECK(answer(game) == "ab");
}

TEST_CASE("adapter changes take effect in submission order, and can be cancelled") {
    Game game;
    game.have("npc", R"({"adapters": true, "tokens": ["a"], "adapter_ms": 50})");
    sotto_request scaled = 0;
    sotto_request gone = 0;
    const auto first = load_adapter(game, "one");
    CHECK(sotto_engine_set_adapter_scale(game.engine(), str("npc"), str(""), 3, 0, &scaled) == SOTTO_OK);
    const auto second = load_adapter(game, "two", "two");
    game.cancel(second);
    CHECK(sotto_engine_unload_adapter(game.engine(), str("npc"), str("two"), 0, &gone) == SOTTO_OK);
    CHECK(done(game.finish(first)).status == SOTTO_OK);
    CHECK(done(game.finish(scaled)).status == SOTTO_OK);
    CHECK(done(game.finish(second)).status == SOTTO_ERROR_CANCELLED);
    CHECK(done(game.finish(gone)).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(answer(game) == "<one*3>a");
    const auto running = load_adapter(game, "three", "three");
    game.until_told(running, SOTTO_EVENT_ACCEPTED);
    game.finish(game.unload("npc"));
    CHECK(done(game.finish(running)).status == SOTTO_ERROR_CANCELLED);
    CHECK(game.until([&] { return adapter_bytes(game) == 0; }));
}

TEST_CASE("a session has its own adapters, which a fork copies and a turn may replace") {
    Game game;
    game.have("npc", kScript);
    CHECK(loads(game, "house") == SOTTO_OK);
    CHECK(loads(game, "pirate", "pirate") == SOTTO_OK);
    const auto about = [&](sotto_op op, const char* body) {
        return done(game.finish(game.submit(body, {}, op))).json;
    };
    const auto turn = [&](const char* session, const char* more = "") {
        const auto body = std::string(R"({"model": "npc", "session": ")") + session +
                          R"(", "messages": [{"role": "user", "content": "hi"}])" + more + "}";
        return said(game.finish(game.submit(body)));
    };
    about(SOTTO_OP_OPEN_SESSION, R"({"session": "mara", "lora": [{"name": "pirate", "scale": 0.8}]})");
    CHECK(turn("mara") == "<pirate*0.8>ab");
    CHECK(turn("mara", R"(, "lora": [])") == "ab");
    about(SOTTO_OP_OPEN_SESSION, R"({"session": "twin", "from": "mara"})");
    CHECK(turn("twin") == "<pirate*0.8>ab");
    const auto changed = about(SOTTO_OP_CHANGE_SESSION, R"({"session": "mara", "lora": []})");
    CHECK(changed.find(R"("lora":[])") != std::string::npos);
    CHECK(turn("mara") == "ab");
    CHECK(turn("twin") == "<pirate*0.8>ab");
    const auto told = about(SOTTO_OP_READ_SESSION, R"({"session": "twin"})");
    CHECK(told.find(R"("lora":[{"name":"pirate","scale":0.8}])") != std::string::npos);
    about(SOTTO_OP_OPEN_SESSION, R"({"session": "plain"})");
    CHECK(turn("plain") == "<house*1>ab");
}

TEST_CASE("destroying an engine ends adapter loads and answers that use adapters") {
    Game game;
    game.have("npc", R"({"adapters": true, "tokens": ["a"], "loop": true, "token_ms": 5, "adapter_ms": 30})");
    CHECK(loads(game, "house") == SOTTO_OK);
    const auto running = game.ask("npc", "hi");
    game.until_told(running, SOTTO_EVENT_TEXT);
    CHECK(unloads(game) == SOTTO_OK);
    load_adapter(game, "late");
    game.end();
}
