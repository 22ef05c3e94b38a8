// Loading and unloading models while others are in use.
#include <cstdint>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/paths.hpp"
#include "support/tapped_backend.hpp"
#include "text/json_reader.hpp"

using namespace test;
using sotto::Json;

namespace {

const char* const kEndless = R"({"tokens": ["a"], "loop": true})";

std::string models(Game& game) {
    sotto_str json{};
    REQUIRE(sotto_engine_list_models(game.engine(), &json) == SOTTO_OK);
    return text_of(json);
}

sotto_request load_from(Game& game, const char* id, const char* path, const char* options = "") {
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str(id);
    desc.path = str(path);
    desc.backend = game.backend();
    desc.options = str(options);
    sotto_request request = 0;
    REQUIRE(sotto_engine_load_model(game.engine(), &desc, &request) == SOTTO_OK);
    return request;
}

} // namespace

TEST_CASE("a load is accepted, reports progress and succeeds") {
    Game game;
    const auto& history = game.finish(game.load("npc", R"({"load_ms": 20})"));
    CHECK(history.front().kind == SOTTO_EVENT_ACCEPTED);
    CHECK(count(history, SOTTO_EVENT_PROGRESS) >= 10);
    float before = -1;
    for (const auto& event : history) {
        if (event.kind == SOTTO_EVENT_PROGRESS) {
            CHECK(event.progress > before);
            before = event.progress;
        }
    }
    CHECK(before == 1);
    CHECK(done(history).status == SOTTO_OK);
}

TEST_CASE("loading a loaded model succeeds at once") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("npc");
    const auto& again = game.finish(game.load("npc", "{}"));
    CHECK(again.size() == 1);
    CHECK(done(again).status == SOTTO_OK);
    CHECK(backend.count(Point::load) == 1);
}

TEST_CASE("concurrent requests to load one model share one load") {
    Held held(Point::load);
    Game game(held.backend.table());
    held.gate.shut();
    std::vector<sotto_request> all;
    for (int i = 0; i < 10; ++i) {
        all.push_back(game.load("npc", "{}"));
    }
    game.until_told(all.back(), SOTTO_EVENT_ACCEPTED);
    held.gate.open();
    for (const auto request : all) {
        CHECK(done(game.finish(request)).status == SOTTO_OK);
    }
    CHECK(held.backend.count(Point::load) == 1);
}

TEST_CASE("an id refers to one model at a time") {
    Game game;
    game.have("npc", "{}");
    const auto& other = game.finish(game.load("npc", kEndless));
    CHECK(done(other).status == SOTTO_ERROR_STATE);
    CHECK(
        done(other).error ==
        "model 'npc' is already loaded with another path, backend or options: unload it first, or choose "
        "another id"
    );
    CHECK(done(game.finish(load_from(game, "npc", "elsewhere"))).status == SOTTO_ERROR_STATE);
    CHECK(done(game.finish(game.unload("npc"))).status == SOTTO_OK);
    game.have("npc", kEndless);
}

TEST_CASE("a request needs a loaded model") {
    Held held(Point::load);
    Game game(held.backend.table());
    held.gate.shut();
    const auto loading = game.load("npc", "{}");
    REQUIRE(held.gate.reached());
    const auto& early = game.finish(game.ask("npc", "hi"));
    CHECK(done(early).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(done(early).error == "model 'npc' is still loading: wait for its SOTTO_EVENT_REQUEST_DONE");
    CHECK(models(game) == "[]");
    held.gate.open();
    game.finish(loading);
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "hi");
}

TEST_CASE("streams continue to decode while another model loads") {
    Held held(Point::load);
    Game game(held.backend.table());
    game.have("npc", "{}");
    held.gate.shut();
    const auto loading = game.load("other", "{}");
    REQUIRE(held.gate.reached(2));
    CHECK(said(game.finish(game.ask("npc", "we do not wait"))) == "we do not wait");
    CHECK(count(game.of(loading), SOTTO_EVENT_REQUEST_DONE) == 0);
    held.gate.open();
    CHECK(done(game.finish(loading)).status == SOTTO_OK);
}

TEST_CASE("a model that cannot be loaded fails with the reason") {
    Game game;
    CHECK(
        done(game.finish(game.load("npc", R"({"fail_load": "it is cursed"})"))).error ==
        "model 'npc': it is cursed"
    );
    CHECK(
        done(game.finish(game.load("npc", R"({"fail_load": "it is cursed"})"))).status == SOTTO_ERROR_MODEL
    );
    CHECK(done(game.finish(load_from(game, "npc", "no/such/file"))).status == SOTTO_ERROR_NOT_FOUND);
    const auto& odd = game.finish(game.load("npc", "[1]"));
    CHECK(done(odd).status == SOTTO_ERROR_ARGUMENT);
    CHECK(done(odd).error == "invalid options '[...]': expected a JSON object");
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str("npc");
    desc.backend = str("nobody");
    sotto_request request = 0;
    REQUIRE(sotto_engine_load_model(game.engine(), &desc, &request) == SOTTO_OK);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_UNSUPPORTED);
    game.have("npc"); // earlier failures do not matter
}

TEST_CASE("a host's backend opens only models that name it") {
    TappedBackend backend;
    auto table = backend.table();
    table.name = str("mine");
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = desc.path = str("npc");
    desc.options = str("{}");
    const auto load = [&](Game& game, const char* named) {
        desc.backend = str(named);
        sotto_request request = 0;
        REQUIRE(sotto_engine_load_model(game.engine(), &desc, &request) == SOTTO_OK);
        return done(game.finish(request));
    };
    auto setup = plain_desc();
    {
        Game game(setup, table); // no module is next to the test
        const auto told = load(game, "");
        CHECK(told.status == SOTTO_ERROR_UNSUPPORTED);
        const std::string what = "the added backend 'mine' opens models that name it";
        CHECK_MESSAGE(told.error.find(what) != std::string::npos, told.error);
    }
    setup.module_dir = str(test::paths::kScriptedFolder);
    Game game(setup, table);
    CHECK(load(game, "").status == SOTTO_OK);
    CHECK(models(game).find(R"("backend":"scripted")") != std::string::npos);
    CHECK(backend.count(Point::load) == 0);
    desc.id = str("other");
    CHECK(load(game, "mine").status == SOTTO_OK);
    CHECK(backend.count(Point::load) == 1);
}

TEST_CASE("an unload ends running requests of the model, then frees its memory") {
    Held held(Point::step);
    Game game(held.backend.table());
    game.have("npc", R"({"tokens": ["a"], "loop": true, "streams": 2})");
    std::vector<sotto_request> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(game.ask("npc", "hi"));
    }
    game.until_told(all[1], SOTTO_EVENT_TEXT, 2);
    held.gate.shut();
    REQUIRE(held.gate.holds());
    const auto leaving = game.unload("npc");
    for (const auto request : all) {
        const auto& history = game.finish(request);
        CHECK(done(history).status == SOTTO_ERROR_CANCELLED);
        CHECK(done(history).error == "the model was unloaded");
    }
    CHECK(done(game.finish(game.ask("npc", "hi"))).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(models(game) == "[]");
    CHECK(count(game.of(leaving), SOTTO_EVENT_REQUEST_DONE) == 0); // during a step
    held.gate.open();
    CHECK(done(game.finish(leaving)).status == SOTTO_OK);
    CHECK(held.backend.count(Point::unload) == 1);
    CHECK(held.backend.count(Point::open) == held.backend.count(Point::close));
}

TEST_CASE("a model can be loaded again while the previous one is still being freed") {
    Held held(Point::unload);
    Game game(held.backend.table());
    game.have("npc", "{}");
    held.gate.shut();
    const auto leaving = game.unload("npc");
    REQUIRE(held.gate.reached());
    const auto again = game.load("npc", kEndless);
    game.until_told(again, SOTTO_EVENT_ACCEPTED);
    held.gate.open();
    CHECK(done(game.finish(leaving)).status == SOTTO_OK);
    CHECK(done(game.finish(again)).status == SOTTO_OK);
}

TEST_CASE("an unload during a load ends the load") {
    Held held(Point::load);
    Game game(held.backend.table());
    held.gate.shut();
    const auto loading = game.load("npc", "{}");
    REQUIRE(held.gate.reached());
    const auto leaving = game.unload("npc");
    CHECK(done(game.finish(loading)).status == SOTTO_ERROR_CANCELLED);
    held.gate.open();
    CHECK(done(game.finish(leaving)).status == SOTTO_OK);
    CHECK(done(game.finish(game.ask("npc", "hi"))).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(done(game.finish(game.unload("npc"))).status == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("unloading an unknown model fails") {
    Game game;
    const auto& history = game.finish(game.unload("npc"));
    CHECK(done(history).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(done(history).error == "model 'npc' is not loaded: check the id");
    game.have("npc");
    const auto first = game.unload("npc");
    const auto second = game.unload("npc");
    CHECK(done(game.finish(first)).status == SOTTO_OK);
    CHECK(done(game.finish(second)).status == SOTTO_ERROR_NOT_FOUND);
}

TEST_CASE("the list of models shows each usable model with its memory") {
    Game game;
    CHECK(models(game) == "[]");
    game.have("sotto/npc", R"({"weights": 100, "kv": 20, "compute": 3, "context": 4096, "streams": 7})");
    game.have("./file", "{}");
    const auto list = Json::parse(models(game));
    REQUIRE(list.size() == 2);
    CHECK(list[0]["id"] == "sotto/npc");
    CHECK(list[0]["object"] == "model");
    CHECK(list[0]["owned_by"] == "sotto");
    CHECK(list[0]["backend"] == "scripted");
    CHECK(list[0]["context"] == 4096);
    CHECK(list[0]["streams"] == 7);
    CHECK(list[0]["operations"][0] == "chat");
    CHECK(list[0]["bytes"] == Json{{"weights", 100}, {"kv", 20}, {"compute", 3}, {"host", 0}});
    CHECK(list[0]["details"]["architecture"] == "scripted");
    CHECK(list[1]["owned_by"] == "local");
    game.finish(game.unload("sotto/npc"));
    CHECK(Json::parse(models(game)).size() == 1);
}

TEST_CASE("a model over the budget is refused before loading, with the numbers") {
    constexpr std::uint64_t kMegabyte = 1 << 20;
    TappedBackend backend;
    auto desc = plain_desc();
    desc.vram_budget = 100 * kMegabyte;
    Game game(desc, backend.table());
    const auto script = [&](std::uint64_t weights, std::uint64_t kv, std::uint64_t compute) {
        return "{\"weights\": " + std::to_string(weights * kMegabyte) +
               ", \"kv\": " + std::to_string(kv * kMegabyte) +
               ", \"compute\": " + std::to_string(compute * kMegabyte) + "}";
    };
    game.have("first", script(50, 8, 2));
    CHECK(done(game.finish(game.load("exact", script(40, 0, 0)))).status == SOTTO_OK);
    const auto& refused = game.finish(game.load("second", script(90, 7, 4)));
    CHECK(done(refused).status == SOTTO_ERROR_BUDGET);
    CHECK(
        done(refused).error ==
        "second needs 101 MB; 100 MB of the budget of 100 MB are taken, 100 MB of them by models that are "
        "idle. Raise vram_budget to 101 MB, unload a model, or ask for less in options"
    );
    CHECK(backend.count(Point::load) == 2);
    CHECK(backend.count(Point::unload) == 0); // no model was evicted in vain
    CHECK(sotto_engine_set_vram_budget(game.engine(), 0) == SOTTO_OK);
    game.have("huge", script(1'000'000, 0, 0));
}

TEST_CASE("a model that its backend cannot measure is checked against the budget after loading") {
    TappedBackend backend;
    auto desc = plain_desc();
    desc.vram_budget = 1 << 20;
    auto table = backend.table();
    table.measure = nullptr;
    Game game(desc, table);
    const auto& refused = game.finish(game.load("npc", R"({"weights": 5000000})"));
    CHECK(done(refused).status == SOTTO_ERROR_BUDGET);
    CHECK(backend.count(Point::load) == 1);
    CHECK(backend.count(Point::unload) == 1);
    game.have("npc", R"({"weights": 1048576})");
}

TEST_CASE("sizes that overflow exceed any budget") {
    auto desc = plain_desc();
    desc.vram_budget = UINT64_MAX;
    Game game(desc);
    game.have("npc", R"({"weights": 1000})");
    const auto& refused =
        game.finish(game.load("vast", R"({"weights": 18446744073709551615, "kv": 18446744073709551615})"));
    CHECK(done(refused).status == SOTTO_ERROR_BUDGET);
}
