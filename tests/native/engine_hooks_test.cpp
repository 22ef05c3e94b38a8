// Hooks of the host are called with the right arguments, in pairs where they belong together.
#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "platform/thread.hpp"
#include "support/game.hpp"
#include "support/hooks.hpp"
#include "support/tapped_backend.hpp"
#include "text/json_reader.hpp"

using namespace test;

namespace {

using Names = std::vector<std::string>;

Names sorted(Names names) {
    std::sort(names.begin(), names.end());
    return names;
}

sotto_request load_file(Game& game, const char* id, const char* path) {
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str(id);
    desc.path = str(path);
    desc.backend = game.backend();
    sotto_request request = 0;
    REQUIRE(sotto_engine_load_model(game.engine(), &desc, &request) == SOTTO_OK);
    return request;
}

} // namespace

TEST_CASE("memory callbacks name model, device and kind, and sum up to zero") {
    HostHooks host;
    Game game(host.desc());
    game.have("first", R"({"weights": 100, "kv": 20, "compute": 3})");
    game.have("second", R"({"weights": 7})");
    CHECK(
        host.memory() ==
        std::map<std::string, std::int64_t>{
            {"1 cpu first", 100}, {"2 cpu first", 20}, {"3 cpu first", 3}, {"1 cpu second", 7}
        }
    );
    CHECK(host.memory_calls() == 4); // kinds without memory are not reported
    game.finish(game.unload("first"));
    CHECK(host.memory()["1 cpu first"] == 0);
    CHECK(host.memory()["1 cpu second"] == 7);
    game.have("first", R"({"weights": 50})");
    game.ask("second", "a b c d e f");
    game.load("third", R"({"weights": 9, "load_ms": 50})");
    game.end();
    for (const auto& [what, bytes] : host.memory()) {
        CAPTURE(what);
        CHECK(bytes == 0);
    }
}

TEST_CASE("a model that is refused or fails leaves no memory reported") {
    HostHooks host;
    auto desc = host.desc();
    desc.vram_budget = 100;
    Game game(desc);
    game.finish(game.load("large", R"({"weights": 1000})"));
    game.finish(game.load("broken", R"({"weights": 10, "fail_load": "it is"})"));
    game.end();
    CHECK(host.memory_calls() == 2); // reserved before the failed load and released afterwards
    for (const auto& [what, bytes] : host.memory()) {
        CHECK_MESSAGE(bytes == 0, what);
    }
}

TEST_CASE("bytes in use are the sum over all models") {
    Game game;
    const auto in_use = [&] {
        sotto_str json{};
        REQUIRE(sotto_engine_describe(game.engine(), &json) == SOTTO_OK);
        return sotto::Json::parse(text_of(json))["bytes_in_use"].get<int>();
    };
    CHECK(in_use() == 0);
    game.have("first", R"({"weights": 100, "kv": 20, "compute": 3})");
    game.have("second", R"({"weights": 7})");
    CHECK(in_use() == 130);
    game.finish(game.unload("first"));
    CHECK(in_use() == 7);
}

TEST_CASE("each thread is announced with its name, which is also its system name") {
    HostHooks host;
    Game game(host.desc());
    game.have("npc");
    game.finish(game.ask("npc", "hi"));
    sotto_engine_set_mode(game.engine(), SOTTO_MODE_BALANCE);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(kPatience);
    const auto has_idle = [&] {
        const auto names = host.threads();
        return std::find(names.begin(), names.end(), "npc-idle") != names.end();
    };
    // on a busy machine the thread may not have run yet
    while (!has_idle() && std::chrono::steady_clock::now() < deadline) {
        game.finish(game.ask("npc", "hi"));
    }
    game.end();
    const Names names = {"npc-compute", "npc-control", "npc-idle", "npc-load", "npc-loader", "npc-probe"};
    CHECK(sorted(host.threads()) == names);
    CHECK(sorted(host.system_names()) == names);
}

TEST_CASE("a long thread name is truncated for the system only") {
    HostHooks host;
    auto desc = host.desc();
    auto threads = *desc.threads;
    threads.name = str("a very long name indeed");
    desc.threads = &threads;
    Game game(desc);
    game.end();
    CHECK(
        sorted(host.threads()) == Names{"a very long name indeed-control", "a very long name indeed-loader"}
    );
#ifdef _WIN32
    CHECK(sorted(host.system_names()) == sorted(host.threads())); // the hook gets complete names
#else
    CHECK(sorted(host.system_names()) == Names{"a very long nam", "a very long nam"});
#endif
}

TEST_CASE("profiler zones begin and end in pairs on each thread, also after failure or cancellation") {
    HostHooks host;
    Game game(host.desc());
    game.have("npc", R"({"tokens": ["a"], "loop": true})");
    game.have("shy", R"({"fail_open": "no"})");
    game.have("frail", R"({"fail_step": 0})");
    game.finish(game.load("broken", R"({"fail_load": "no"})"));
    game.finish(game.ask("shy", "hi"));
    game.finish(game.ask("frail", "hi"));
    const auto request = game.ask("npc", "hi");
    game.until_told(request, SOTTO_EVENT_TEXT, 3);
    game.cancel(request);
    game.finish(request);
    game.end();
    CHECK_FALSE(host.zones().empty()); // a new thread may reuse the id of one that has ended
    for (const auto& [thread, zones] : host.zones()) {
        CHECK(zones.open == 0);
        CHECK_FALSE(zones.unbalanced);
        CHECK(zones.ended > 0);
    }
    const auto names = host.zone_names();
    CHECK(
        std::set<std::string>(names.begin(), names.end()) ==
        std::set<std::string>{"sotto load model", "sotto open stream", "sotto step"}
    );
}

TEST_CASE("files are read through the host's file functions") {
    HostHooks host;
    host.files["pak/npc.json"] = R"({"tokens": ["from", " the", " archive"]})";
    Game game(host.desc());
    CHECK(done(game.finish(load_file(game, "npc", "pak/npc.json"))).error == "");
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "from the archive");
    const auto& missing = game.finish(load_file(game, "other", "/etc/hostname"));
    CHECK(done(missing).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(done(missing).error == "the host cannot open file '/etc/hostname'");
    CHECK(host.files_opened() == 1);
    CHECK(host.files_closed() == 1);
}

TEST_CASE("a model without a path is the file named by its id") {
    HostHooks host;
    host.files["pak/npc.json"] = R"({"tokens": ["here"]})";
    Game game(host.desc());
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str("pak/npc.json");
    desc.backend = game.backend();
    sotto_request request = 0;
    REQUIRE(sotto_engine_load_model(game.engine(), &desc, &request) == SOTTO_OK);
    CHECK(done(game.finish(request)).status == SOTTO_OK);
    CHECK(said(game.finish(game.ask("pak/npc.json", "hi"))) == "here");
}

TEST_CASE("log lines reach the host at the level that it sets") {
    HostHooks host;
    auto desc = host.desc();
    auto threads = *desc.threads;
    const std::uint64_t nowhere[] = {0, 0, 0, 1ULL << 63}; // core 255, which does not exist
    threads.affinity = nowhere;
    threads.affinity_words = 4;
    desc.threads = &threads;
    Game game(desc);
    game.have("npc");
    CHECK(said(game.finish(game.ask("npc", "goes on all the same"))) == "goes on all the same");
    game.end();
    const auto lines = host.lines();
    REQUIRE(lines.size() == 1);
    CHECK(lines[0].level == SOTTO_LOG_WARN);
    CHECK(lines[0].text == "threads->affinity names no core that this process may use; it is ignored");
}

TEST_CASE("models compute on at most the threads that the host allows") {
    HostHooks host;
    auto desc = host.desc();
    auto threads = *desc.threads;
    threads.compute_threads = 1;
    desc.threads = &threads;
    TappedBackend backend;
    Game game(desc, backend.table());
    game.have("npc");
    game.finish(game.ask("npc", "a b c"));
    for (const auto& step : backend.steps()) {
        CHECK(step.threads == 1);
    }
}

TEST_CASE("models that yield start on all cores, however many the game uses") {
    const auto cores = sotto::usable_cores();
    for (const auto busy : {cores > 1 ? cores - 1 : 1, 1000U}) {
        TappedBackend backend;
        auto desc = plain_desc();
        desc.mode = SOTTO_MODE_BALANCE;
        Game game(desc, backend.table());
        game.have("npc");
        auto frame = SOTTO_INIT(sotto_frame_begin_desc);
        frame.busy_cores = busy;
        CHECK(sotto_engine_frame_begin(game.engine(), &frame) == SOTTO_OK);
        game.finish(game.ask("npc", "a b c"));
        REQUIRE_FALSE(backend.steps().empty());
        CHECK(backend.steps().front().threads == cores);
    }
}
