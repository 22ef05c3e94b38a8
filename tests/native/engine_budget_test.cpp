// Fitting models into a budget, and the memory report.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/budget.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

// Properties of a model loaded within a budget.
struct Came {
    sotto_status status = SOTTO_OK;
    std::string why;
    std::uint32_t streams = 0;
    std::uint32_t context = 0;
    std::uint64_t kv = 0;
};

Came load_within(std::uint64_t megabytes, const Takes& takes) {
    Tight tight(megabytes);
    const auto& last = done(tight.game.finish(tight.game.load("npc", script(takes))));
    Came came{last.status, last.error};
    if (last.status == SOTTO_OK) {
        sotto_str json{};
        REQUIRE(sotto_engine_list_models(tight.game.engine(), &json) == SOTTO_OK);
        const auto listed = Json::parse(text_of(json))[0];
        came.streams = tight.model("npc")["streams"];
        came.context = listed["context"];
        came.kv = tight.model("npc")["kv"].get<std::uint64_t>();
        CHECK(listed["streams"] == came.streams);
        CHECK(said(tight.game.finish(tight.game.ask("npc", "it speaks"))) == "it speaks");
    }
    CHECK(tight.used() <= static_cast<double>(megabytes));
    return came;
}

std::string refused(std::uint64_t megabytes, const Takes& takes) {
    const auto came = load_within(megabytes, takes);
    CHECK(came.status == SOTTO_ERROR_BUDGET);
    CHECK_MESSAGE(says_why(came.why), came.why);
    return came.why;
}

sotto_request
plan(Game& game, std::string_view options, std::uint64_t budget = 0, std::string_view path = {}) {
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str("npc");
    desc.path = str(path);
    desc.backend = game.backend();
    desc.options = str(options);
    sotto_request request = 0;
    REQUIRE_MESSAGE(
        sotto_engine_plan_model(game.engine(), &desc, budget, &request) == SOTTO_OK, last_error()
    );
    return request;
}

Json planned(Game& game, std::string_view options, std::uint64_t budget = 0) {
    const auto& last = done(game.finish(plan(game, options, budget)));
    REQUIRE_MESSAGE(last.status == SOTTO_OK, last.error);
    return Json::parse(last.json);
}

std::vector<std::string> names(const Json& plan) {
    std::vector<std::string> all;
    for (const auto& rung : plan["rungs"]) {
        all.push_back(rung["rung"]);
    }
    return all;
}

} // namespace

TEST_CASE("a model that fits is loaded as requested, to the byte") {
    const auto came = load_within(52, {.gives = kGivesAll});
    CHECK(came.streams == 4);
    CHECK(came.context == 4096);
    CHECK(came.kv == 40 * kMegabyte);
}

TEST_CASE("a model that does not fit is shrunk rung by rung, no further than needed") {
    struct Step {
        std::uint64_t budget;
        std::uint32_t streams;
        std::uint32_t context;
        std::uint64_t kv; // in MB
    };
    const std::vector<Step> steps = {
        {51, 4, 4096, 20}, // KV cache with fewer bits
        {32, 4, 4096, 20},
        {31, 3, 4096, 15}, // fewer streams
        {22, 2, 4096, 10},
        {17, 1, 4096, 5},
    };
    for (const auto& step : steps) {
        CAPTURE(step.budget);
        const auto came = load_within(step.budget, {.gives = kGivesAll});
        CHECK_MESSAGE(came.status == SOTTO_OK, came.why);
        CHECK(came.streams == step.streams);
        CHECK(came.context == step.context);
        CHECK(came.kv == step.kv * kMegabyte);
    }
    const auto shorter = load_within(15, {.gives = kGivesAll});
    CHECK_MESSAGE(shorter.status == SOTTO_OK, shorter.why);
    CHECK(shorter.streams == 1);
    CHECK(shorter.context < 4096);
    CHECK(shorter.context >= 2048); // 3 MB of 5
    CHECK(refused(12, {.gives = kGivesAll}).find("npc needs 52 MB") == 0);
}

TEST_CASE("options that are set are never changed: the load fails instead") {
    const auto why = refused(51, {.gives = "[]"});
    CHECK(why.find("npc needs 52 MB") == 0);
    CHECK(why.find("budget of 51 MB") != std::string::npos);
    const auto few = load_within(31, {.gives = R"(["streams"])"});
    CHECK_MESSAGE(few.status == SOTTO_OK, few.why);
    CHECK(few.streams == 1); // at full size: the KV type is set
    CHECK(few.kv == 10 * kMegabyte);
    refused(21, {.gives = R"(["streams"])"});
    const auto small = load_within(33, {.gives = R"(["kv"])"});
    CHECK(small.streams == 4);
    CHECK(small.context == 4096);
    CHECK(small.kv == 20 * kMegabyte);
    refused(31, {.gives = R"(["kv"])"});
}

TEST_CASE("streams are not shortened below a useful length") {
    const Takes takes{.streams = 1, .gives = R"(["tokens"])", .more = R"(, "min_stream_tokens": 2048)"};
    const auto shorter = load_within(18, takes); // 6 MB of 10
    CHECK_MESSAGE(shorter.status == SOTTO_OK, shorter.why);
    CHECK(shorter.context >= 2048);
    CHECK(shorter.context < 4096);
    refused(16, takes);
}

TEST_CASE("budgets of zero, of 1 MB and larger than the machine are handled") {
    CHECK(load_within(1 << 24, {.gives = kGivesAll}).kv == 40 * kMegabyte); // 16 TB
    refused(1, {.gives = kGivesAll});
    Tight none(0);
    none.game.have("npc", script({.weights = 1 << 20}));
    CHECK(none.memory()["budget"] == 0);
    CHECK(none.memory()["over"] == 0);
}

TEST_CASE("a refused model leaves the loaded models unchanged") {
    Tight tight(60);
    tight.game.have("first", script({}));
    const auto before = tight.memory()["used"];
    const auto& refused = done(tight.game.finish(tight.game.load("vast", script({.weights = 100}))));
    CHECK(refused.status == SOTTO_ERROR_BUDGET);
    CHECK_MESSAGE(says_why(refused.error), refused.error);
    CHECK(tight.memory()["used"] == before);
    CHECK(tight.model("first")["state"] == "ready"); // no model was evicted in vain
    CHECK(tight.model("vast").empty());
}

TEST_CASE("the memory report lists all owners and adds up") {
    Tight tight(200);
    tight.game.have("first", script({.weights = 10, .place = 3, .compute = 2}));
    tight.game.have("second", script({.weights = 7, .place = 1, .compute = 1, .streams = 2}));
    const auto told = tight.memory();
    CHECK(told["budget"] == 200 * kMegabyte);
    CHECK(told["used"] == (24 + 10) * kMegabyte);
    CHECK(told["peak"] >= told["used"]);
    CHECK(told["over"] == 0);
    CHECK(told["uses"]["weights"]["used"] == 17 * kMegabyte);
    CHECK(told["uses"]["kv"]["used"] == 14 * kMegabyte);
    CHECK(told["uses"]["compute"]["used"] == 3 * kMegabyte);
    for (const char* use : {"weights", "kv", "compute", "adapter", "image", "spilled_kv"}) {
        CAPTURE(use);
        std::uint64_t sum = 0;
        for (const auto& model : told["models"]) {
            sum += model.value(use, std::uint64_t{0});
        }
        CHECK(told["uses"][use]["used"] == sum);
        CHECK(told["uses"][use]["peak"] >= sum);
    }
    const auto second = tight.model("second");
    CHECK(second["state"] == "ready");
    CHECK(second["streams"] == 2);
    CHECK(second["max_streams"] == 2);
    CHECK(told["parked"] == Json{{"count", 0}, {"memory", 0}, {"disk", 0}});
    for (const char* figure : {"total", "available", "process", "mapped"}) {
        CHECK(told["system"][figure] > 0);
    }
    const auto stats = tight.stats();
    CHECK(stats.vram_budget == 200 * kMegabyte);
    CHECK(stats.bytes_in_use == 34 * kMegabyte);
    CHECK(stats.bytes_weights == 17 * kMegabyte);
    CHECK(stats.bytes_kv == 14 * kMegabyte);
    CHECK(stats.bytes_compute == 3 * kMegabyte);
    CHECK(stats.bytes_peak >= stats.bytes_in_use);
    CHECK(stats.bytes_parked == 0);
    CHECK(stats.models_evicted == 0);
    tight.game.finish(tight.game.unload("first"));
    CHECK(tight.memory()["used"] == 10 * kMegabyte);
    CHECK(tight.model("first").empty());
    CHECK(tight.memory()["peak"] == told["peak"]);
}

TEST_CASE("a memory report needs an engine and an out-parameter") {
    sotto_str json = str("what was there");
    CHECK(sotto_engine_memory(nullptr, &json) == SOTTO_ERROR_ARGUMENT);
    CHECK(json.size == 0);
    Game game;
    CHECK(sotto_engine_memory(game.engine(), nullptr) == SOTTO_ERROR_ARGUMENT);
    CHECK(sotto_engine_memory(game.engine(), &json) == SOTTO_OK);
}

TEST_CASE("a plan reports what would fit, and loads nothing") {
    TappedBackend backend;
    Tight tight(100, backend.table());
    const auto options = script({.gives = kGivesAll});
    const auto whole = planned(tight.game, options);
    CHECK(whole["model"] == "npc");
    CHECK(whole["fits"] == true);
    CHECK(whole["rung"] == "as asked");
    CHECK(whole["budget"] == 100 * kMegabyte);
    CHECK(whole["used"] == 0);
    CHECK(whole["free"] == 100 * kMegabyte);
    CHECK(whole["kv_per_token"] == 10 * kMegabyte / 4096);
    REQUIRE(whole["rungs"].size() == 1);
    CHECK(whole["rungs"][0]["bytes"] == 52 * kMegabyte);
    CHECK(whole["rungs"][0]["weights"] == 10 * kMegabyte);
    CHECK(whole["rungs"][0]["kv"] == 40 * kMegabyte);
    CHECK(whole["rungs"][0]["compute"] == 2 * kMegabyte);

    const auto tightly = planned(tight.game, options, 31 * kMegabyte);
    CHECK(tightly["rung"] == "fewer streams");
    CHECK(names(tightly) == std::vector<std::string>{"as asked", "small kv", "fewer streams"});
    CHECK(tightly["budget"] == 31 * kMegabyte);
    for (const auto& rung : tightly["rungs"]) {
        CHECK(
            rung["bytes"] == rung["weights"].get<int>() + rung["kv"].get<int>() + rung["compute"].get<int>()
        );
        CHECK(rung["fits"] == (rung["bytes"] <= 31 * kMegabyte));
    }

    const auto hopeless = planned(tight.game, options, 5 * kMegabyte);
    CHECK(hopeless["fits"] == false);
    CHECK(hopeless["rung"].is_null());
    CHECK_MESSAGE(says_why(hopeless["reason"]), hopeless["reason"]);
    CHECK(backend.count(Point::load) == 0);
    CHECK(tight.memory()["used"] == 0);
    CHECK(tight.memory()["models"].empty());
}

TEST_CASE("a load follows its plan") {
    for (const std::uint64_t budget : {52, 40, 31, 22, 17, 15}) {
        CAPTURE(budget);
        Tight tight(budget);
        const auto options = script({.gives = kGivesAll});
        const auto plan = planned(tight.game, options);
        REQUIRE(plan["fits"] == true);
        tight.game.have("npc", options);
        const auto& rung = plan["rungs"].back();
        CHECK(rung["rung"] == plan["rung"]);
        CHECK(tight.memory()["used"] == rung["bytes"]);
        CHECK(tight.model("npc")["streams"] == rung["streams"]);
    }
}

TEST_CASE("a plan counts and reports models that could be evicted") {
    Tight tight(60);
    tight.game.have("other", script({}));
    const auto plan = planned(tight.game, script({.gives = "[]"}));
    CHECK(plan["used"] == 52 * kMegabyte);
    CHECK(plan["free"] == 8 * kMegabyte);
    CHECK(plan["fits"] == true);
    CHECK(plan["rung"] == "unload idle");
    CHECK(tight.model("other")["state"] == "ready"); // a plan evicts nothing
}

TEST_CASE("without a budget a plan is not limited") {
    Game game;
    const auto plan = planned(game, script({.weights = 1 << 20}));
    CHECK(plan["fits"] == true);
    CHECK(plan["free"].is_null());
}

TEST_CASE("a plan for an invalid model fails with the reason, and a plan can be cancelled") {
    Held held(Point::measure);
    Tight tight(100, held.backend.table());
    CHECK(done(tight.game.finish(plan(tight.game, "", 0, "no/such/file"))).status == SOTTO_ERROR_NOT_FOUND);
    const auto& odd = done(tight.game.finish(plan(tight.game, "[1]")));
    CHECK(odd.status == SOTTO_ERROR_ARGUMENT);
    CHECK(odd.error == "invalid options '[...]': expected a JSON object");
    held.gate.shut();
    const auto request = plan(tight.game, script({}));
    REQUIRE(held.gate.holds());
    tight.game.cancel(request);
    held.gate.open();
    CHECK(done(tight.game.finish(request)).status == SOTTO_ERROR_CANCELLED);
    CHECK(planned(tight.game, script({}))["fits"] == true); // checks that the engine continues
    sotto_request nothing = 1;
    CHECK(sotto_engine_plan_model(tight.game.engine(), nullptr, 0, &nothing) == SOTTO_ERROR_ARGUMENT);
    CHECK(nothing == 0);
}

TEST_CASE("budget fields of a request are validated by name") {
    Game game;
    game.have("npc");
    const std::vector<std::pair<std::string, std::string>> all = {
        {"\"never\"", "never"}, {"\"\"", ""}, {"3", "3"}, {"true", "true"}, {"[\"wait\"]", "[...]"}
    };
    for (const auto& [value, shown] : all) {
        CAPTURE(value);
        const auto& refused =
            done(game.finish(game.ask("npc", "hi", {.more = R"(, "on_budget": )" + value})));
        CHECK(refused.status == SOTTO_ERROR_ARGUMENT);
        CHECK(refused.error.find("invalid on_budget '" + shown + "': expected ") == 0);
        CHECK(refused.error.find(R"("wait", "fail", "shrink")") != std::string::npos);
    }
    for (const char* value : {"\"wait\"", "\"fail\"", "\"shrink\"", "null"}) {
        const auto more = R"(, "on_budget": )" + std::string(value);
        CHECK(said(game.finish(game.ask("npc", "hi", {.more = more}))) == "hi");
    }
}
