// Requests submitted while there is no room: they wait, fail, accept less, or are cancelled.
#include <string>

#include <doctest/doctest.h>

#include "support/budget.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

TEST_CASE("on_budget decides if a request waits for room or fails at once") {
    Tight tight(60);
    tight.game.have("npc", rigid(40));
    tight.game.have("busy", rigid(40, R"(, "tokens": ["a"], "loop": true)"));
    const auto speaker = tight.game.ask("busy", "hi");
    tight.game.until_told(speaker, SOTTO_EVENT_TEXT);
    const auto waits = tight.game.ask("npc", "at last", {.more = R"(, "on_budget": "wait")"});
    const auto waits_too = tight.game.ask("npc", "me too");
    const auto& fails =
        done(tight.game.finish(tight.game.ask("npc", "hi", {.more = R"(, "on_budget": "fail")"})));
    CHECK(fails.status == SOTTO_ERROR_BUDGET);
    CHECK_MESSAGE(says_why(fails.error), fails.text);
    tight.game.until_told(speaker, SOTTO_EVENT_TEXT, count(tight.game.of(speaker), SOTTO_EVENT_TEXT) + 3);
    CHECK(count(tight.game.of(waits), SOTTO_EVENT_REQUEST_DONE) == 0);
    CHECK(tight.model("npc")["state"] == "loading");
    tight.game.cancel(speaker);
    CHECK(said(tight.game.finish(waits)) == "at last");
    CHECK(said(tight.game.finish(waits_too)) == "me too");
}

TEST_CASE("a request with on_budget=fail fails as soon as it is known that there is no room") {
    Held measuring(Point::measure);
    Tight tight(60, measuring.backend.table());
    tight.game.have("npc", rigid(40));
    tight.game.have("busy", rigid(40, R"(, "tokens": ["a"], "loop": true)"));
    const auto speaker = tight.game.ask("busy", "hi");
    tight.game.until_told(speaker, SOTTO_EVENT_TEXT);
    measuring.gate.shut();
    const auto waits = tight.game.ask("npc", "at last");
    REQUIRE(measuring.gate.holds());
    const auto lowered = tight.game.ask("npc", "hi", {.more = R"(, "on_budget": "fail")"});
    REQUIRE(tight.game.until([&] { return tight.stats().waiting == 2; }));
    tight.set(30); // while one stream decodes
    CHECK(done(tight.game.finish(lowered)).status == SOTTO_ERROR_BUDGET);
    tight.set(60);
    const auto fails = tight.game.ask("npc", "hi", {.more = R"(, "on_budget": "fail")"});
    REQUIRE(tight.game.until([&] { return tight.stats().waiting == 2; }));
    measuring.gate.open();
    const auto& refused = done(tight.game.finish(fails));
    CHECK(refused.status == SOTTO_ERROR_BUDGET);
    CHECK_MESSAGE(says_why(refused.error), refused.error);
    CHECK(count(tight.game.of(waits), SOTTO_EVENT_REQUEST_DONE) == 0);
    tight.game.cancel(speaker);
    CHECK(said(tight.game.finish(waits)) == "at last");
}

TEST_CASE("a request that can never fit does not wait") {
    Tight tight(60);
    tight.game.have("npc", rigid(40));
    tight.set(30);
    tight.settle();
    for (const char* how : {"wait", "fail"}) {
        const auto more = R"(, "on_budget": ")" + std::string(how) + "\"";
        const auto& refused = done(tight.game.finish(tight.game.ask("npc", "hi", {.more = more})));
        CHECK(refused.status == SOTTO_ERROR_BUDGET);
        CHECK_MESSAGE(says_why(refused.error), refused.error);
    }
    tight.set(40);
    CHECK(said(tight.game.finish(tight.game.ask("npc", "hi"))) == "hi");
}

TEST_CASE("a model is reloaded smaller only for requests with on_budget=shrink") {
    Tight tight(60);
    tight.game.have("npc", script({.gives = R"(["kv"])"}));
    tight.set(35);
    tight.settle();
    CHECK(done(tight.game.finish(tight.game.ask("npc", "hi"))).status == SOTTO_ERROR_BUDGET);
    const auto& shrunk =
        tight.game.finish(tight.game.ask("npc", "hi", {.more = R"(, "on_budget": "shrink")"}));
    CHECK_MESSAGE(done(shrunk).status == SOTTO_OK, done(shrunk).error);
    CHECK(said(shrunk) == "hi");
    CHECK(tight.model("npc")["kv"] == 20 * kMegabyte);
    CHECK(said(tight.game.finish(tight.game.ask("npc", "it is there now"))) == "it is there now");
}

TEST_CASE("a request that waits for room can be cancelled") {
    Tight tight(60);
    tight.game.have("npc", rigid(40));
    tight.game.have("busy", rigid(40, R"(, "tokens": ["a"], "loop": true)"));
    tight.game.until_told(tight.game.ask("busy", "hi"), SOTTO_EVENT_TEXT);
    const auto waits = tight.game.ask("npc", "hi");
    sotto_engine_wait_for_events(tight.game.engine(), 20);
    CHECK(count(tight.game.of(waits), SOTTO_EVENT_REQUEST_DONE) == 0);
    tight.game.cancel(waits);
    CHECK(done(tight.game.finish(waits)).status == SOTTO_ERROR_CANCELLED);
    tight.game.ask("npc", "hi"); // the engine is destroyed while a request waits
}

TEST_CASE("a request that arrives while an idle model is shrunk gets a slot once there is room") {
    static Gate resizing;
    auto table = scripted();
    table.resize = [](void* self, void* model, std::uint32_t places, sotto_model_info* info, sotto_str* why) {
        resizing.pass();
        return scripted().resize(self, model, places, info, why);
    };
    Tight tight(52, table);
    const auto parks = R"(, "parkable": true, "fingerprint": "{\"model\": \"it\"}")";
    tight.game.have("npc", script({.gives = R"(["places"])", .more = parks}));
    resizing.shut();
    tight.set(22);
    REQUIRE(resizing.holds());
    tight.set(52);
    const auto request = tight.game.ask("npc", "hi");
    tight.settle(); // wait until the submission was processed
    resizing.open();
    CHECK(said(tight.game.finish(request)) == "hi");
}
