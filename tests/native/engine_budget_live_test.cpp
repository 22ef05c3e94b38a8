// Models and running answers while the budget drops and rises.
#include <atomic>
#include <chrono>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/budget.hpp"
#include "support/session.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

const std::string kSpeech = "a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z. ";

const std::string kParks =
    R"(, "parkable": true, "fingerprint": "{\"model\": \"it\"}")"; // so that it can give up slots

// A model that generates kSpeech slowly and can be parked meanwhile.
Takes speaker(const std::string& more = "") {
    std::string tokens;
    for (std::size_t i = 0; i < kSpeech.size(); i += 3) {
        tokens += (i == 0 ? "\"" : ", \"") + kSpeech.substr(i, 3) + "\"";
    }
    return {
        .gives = R"(["places"])",
        .more = R"(, "token_ms": 5, "unpark_tokens": 5, "tokens": [)" + tokens + "]" + kParks + more
    };
}

std::vector<sotto_request> ask_many(Tight& tight, int count) {
    std::vector<sotto_request> all;
    for (int i = 0; i < count; ++i) {
        all.push_back(tight.game.ask("npc", "speak"));
    }
    return all;
}

// An engine with a budget whose backend can pause once a number of streams decode.
struct PausedTight : Paused, Tight {
    explicit PausedTight(std::uint64_t megabytes) : Tight(megabytes, backend.table()) {}
};

// Submits `count` requests and pauses once `speaking` streams decode.
std::vector<sotto_request> ask_until(PausedTight& tight, int count, std::uint32_t speaking) {
    tight.pause_at(speaking);
    auto all = ask_many(tight, count);
    REQUIRE(tight.holds());
    return all;
}

void all_speak(Tight& tight, const std::vector<sotto_request>& all) {
    for (const auto request : all) {
        CHECK(said(tight.game.finish(request)) == kSpeech);
    }
}

} // namespace

TEST_CASE("idle models release their slots, then their weights, and are loaded again on request") {
    Tight tight(60);
    tight.game.have("old", script({.gives = R"(["places"])", .more = kParks}));
    tight.game.have("new", script({.streams = 3}));
    CHECK(tight.model("old")["kv"] == 0);
    CHECK(tight.model("old")["weights"] == 10 * kMegabyte);
    CHECK(tight.model("old")["state"] == "ready");
    CHECK(said(tight.game.finish(tight.game.ask("old", "I am back"))) == "I am back");
    CHECK(tight.model("new")["state"] == "evicted"); // it has no slots to give up
    CHECK(said(tight.game.finish(tight.game.ask("new", "I am too"))) == "I am too");
    CHECK(tight.used() <= 60);
}

TEST_CASE("an evicted model uses no memory, is listed as evicted, and answers as before") {
    Tight tight(60);
    tight.game.have("npc", script({}));
    Session mara(tight.game, "mara");
    CHECK(mara.turn("one") == "one");
    tight.game.have("new", script({}));
    const auto old = tight.model("npc");
    CHECK(old["state"] == "evicted");
    CHECK(old["streams"] == 0);
    CHECK(old["max_streams"] == 4);
    for (const char* use : {"weights", "kv", "compute"}) {
        CHECK(old.value(use, 0) == 0);
    }
    CHECK(tight.used() == 52);
    CHECK(tight.game.until([&] { return tight.stats().models_evicted == 1; }));
    CHECK(mara.turn("two") == "two");
    CHECK(mara.lines().size() == 4);
    CHECK(tight.model("npc")["state"] == "ready");
    CHECK(tight.model("npc")["kv"] == 40 * kMegabyte); // with its original settings
    CHECK(tight.model("new")["state"] == "evicted");
}

TEST_CASE("a budget set while a model is being opened applies to it and fails no request") {
    Tight tight(45);
    tight.game.have("old", rigid(40, R"(, "load_ms": 200)"));
    tight.game.have("new", rigid(40));
    REQUIRE(tight.model("old")["state"] == "evicted");
    tight.set(0);
    const auto asked = tight.game.ask("old", "I am back");
    REQUIRE(tight.game.until([&] { return tight.model("old")["state"] == "loading"; }));
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // so that opening starts without a budget
    tight.set(45);
    CHECK(said(tight.game.finish(asked)) == "I am back");
    CHECK(tight.model("new")["state"] == "evicted");
    CHECK(tight.used() <= 45);
}

TEST_CASE("of several idle models, the least recently used one is evicted") {
    Tight tight(60);
    for (const char* id : {"a", "b", "c"}) {
        tight.game.have(id, rigid(20));
    }
    for (const char* id : {"b", "a", "c"}) {
        tight.game.finish(tight.game.ask(id, "hi"));
    }
    tight.game.have("d", rigid(20));
    CHECK(tight.model("a")["state"] == "ready");
    CHECK(tight.model("b")["state"] == "evicted");
    CHECK(tight.model("c")["state"] == "ready");
    tight.game.finish(tight.game.ask("b", "hi"));
    CHECK(tight.model("a")["state"] == "evicted");
}

TEST_CASE("a busy model is never evicted") {
    Tight tight(60);
    tight.game.have("npc", rigid(40, R"(, "tokens": ["a"], "loop": true, "token_ms": 1)"));
    const auto busy = tight.game.ask("npc", "hi");
    tight.game.until_told(busy, SOTTO_EVENT_TEXT);
    const auto& refused = done(tight.game.finish(tight.game.load("new", rigid(40))));
    CHECK(refused.status == SOTTO_ERROR_BUDGET);
    CHECK_MESSAGE(says_why(refused.error), refused.error);
    tight.set(10);
    CHECK(tight.memory()["over"] == 30 * kMegabyte);
    const auto spoken = count(tight.game.of(busy), SOTTO_EVENT_TEXT);
    tight.game.until_told(busy, SOTTO_EVENT_TEXT, spoken + 5);
    CHECK(tight.model("npc")["state"] == "ready");
    tight.game.cancel(busy);
    tight.settle(); // it can be evicted once it is idle
    CHECK(tight.model("npc")["state"] == "evicted");
}

TEST_CASE("a budget lowered during decoding changes no answer, but delays some") {
    for (const std::uint64_t budget : {32, 22, 41}) {
        CAPTURE(budget);
        PausedTight tight(52);
        tight.game.have("npc", script(speaker()));
        const auto all = ask_until(tight, 6, 4);
        tight.set(budget);
        tight.go_on();
        tight.settle();
        CHECK(tight.used() <= static_cast<double>(budget));
        CHECK(tight.model("npc")["streams"] == (budget - 12) / 10);
        CHECK(tight.model("npc")["max_streams"] == 4);
        for (const auto request : all) {
            const auto& history = tight.game.finish(request);
            CHECK_MESSAGE(done(history).status == SOTTO_OK, done(history).error);
            CHECK(said(history) == kSpeech);
        }
        CHECK(tight.backend.count(Point::park) > 0);
        CHECK(tight.memory()["parked"]["count"] == 0);
    }
}

TEST_CASE("a budget below the minimum is answered stream by stream, then the model is evicted") {
    for (const std::uint64_t budget : {11, 1}) {
        CAPTURE(budget);
        PausedTight tight(52);
        tight.game.have("npc", script(speaker()));
        const auto all = ask_until(tight, 4, 4);
        tight.set(budget);
        tight.pause_at(1);
        REQUIRE(tight.holds());
        CHECK(tight.model("npc")["streams"] == 1);
        tight.go_on();
        for (const auto request : all) {
            const auto& history = tight.game.finish(request);
            CHECK_MESSAGE(done(history).status == SOTTO_OK, done(history).error);
            CHECK(said(history) == kSpeech);
        }
        tight.settle();
        CHECK(tight.used() <= static_cast<double>(budget));
        tight.set(52);
        CHECK(said(tight.game.finish(tight.game.ask("npc", "hi"))) == kSpeech);
    }
}

TEST_CASE("a raised budget gives slots back to waiting streams") {
    PausedTight tight(52);
    tight.game.have("npc", script(speaker()));
    const auto all = ask_until(tight, 4, 4);
    tight.set(22);
    tight.pause_at(1);
    REQUIRE(tight.holds());
    CHECK(tight.game.until([&] { return tight.stats().parked == 3; }));
    tight.set(0);
    tight.go_on();
    CHECK(tight.game.until([&] { return tight.model("npc")["streams"] == 4; }));
    all_speak(tight, all);
}

TEST_CASE("a model loaded with fewer slots grows once there is room") {
    PausedTight tight(32);
    auto takes = speaker();
    takes.gives = R"(["places", "streams"])";
    tight.game.have("npc", script(takes));
    CHECK(tight.model("npc")["streams"] == 2);
    const auto all = ask_until(tight, 4, 2);
    tight.set(52);
    tight.go_on();
    CHECK(tight.game.until([&] { return tight.model("npc")["streams"] == 4; }));
    all_speak(tight, all);
}

TEST_CASE("an evicted model is reloaded with the slots that fit, and grows later") {
    PausedTight tight(52);
    tight.game.have("npc", script(speaker()));
    tight.game.have("other", rigid(52));
    tight.game.finish(tight.game.unload("other"));
    tight.set(22);
    const auto all = ask_until(tight, 2, 1);
    CHECK(tight.model("npc")["streams"] == 1);
    tight.set(0);
    tight.go_on();
    CHECK(tight.game.until([&] { return tight.model("npc")["streams"] == 4; }));
    all_speak(tight, all);
}

TEST_CASE("if slots cannot be restored, their streams fail with the reason, and the next request succeeds") {
    PausedTight tight(52);
    tight.game.have("npc", script(speaker(R"(, "fail_resize": "not today", "fail_resize_at": 0)")));
    const auto all = ask_until(tight, 4, 4);
    tight.set(32);
    tight.go_on();
    tight.settle();
    tight.set(0);
    for (const auto request : all) {
        const auto& last = done(tight.game.finish(request));
        CHECK_MESSAGE(
            (last.status == SOTTO_OK || last.error.find("not today") != std::string::npos), last.error
        );
        CHECK((last.status != SOTTO_OK || said(tight.game.of(request)) == kSpeech));
    }
    CHECK(said(tight.game.finish(tight.game.ask("npc", "hi"))) == kSpeech);
}

TEST_CASE("if slots can never be restored, requests fail and the model is unloaded") {
    PausedTight tight(52);
    tight.game.have("npc", script(speaker(R"(, "fail_resize": "never again")")));
    tight.game.have("other", rigid(0));
    const auto all = ask_until(tight, 4, 4);
    tight.set(32);
    tight.go_on();
    tight.settle();
    tight.set(0);
    CHECK(said(tight.game.finish(tight.game.ask("other", "we go on"))) == "we go on");
    CHECK(done(tight.game.finish(tight.game.unload("npc"))).status == SOTTO_OK);
    for (const auto request : all) {
        CHECK(done(tight.game.finish(request)).status < 0);
    }
    CHECK(tight.used() == 0);
}

TEST_CASE("an evicted model can be unloaded and loaded like any other") {
    Tight tight(60);
    tight.game.have("npc", rigid(40));
    tight.game.have("new", rigid(40));
    REQUIRE(tight.model("npc")["state"] == "evicted");
    CHECK(done(tight.game.finish(tight.game.load("npc", rigid(40)))).status == SOTTO_OK); // it is there
    CHECK(done(tight.game.finish(tight.game.load("npc", rigid(41)))).status == SOTTO_ERROR_STATE);
    tight.game.have("new", rigid(40));
    CHECK(done(tight.game.finish(tight.game.unload("npc"))).status == SOTTO_OK);
    CHECK(tight.model("npc").empty());
    CHECK(done(tight.game.finish(tight.game.ask("npc", "hi"))).status == SOTTO_ERROR_NOT_FOUND);
    tight.game.have("npc", rigid(10));
    CHECK(said(tight.game.finish(tight.game.ask("npc", "hi"))) == "hi");
}

TEST_CASE("an engine is destroyed while models are evicted and reloaded") {
    for (const bool wakes : {false, true}) {
        Tight tight(60);
        tight.game.have("npc", rigid(40, R"(, "load_ms": 20)"));
        tight.game.have("new", rigid(40));
        if (wakes) {
            tight.game.until_told(tight.game.ask("npc", "hi"), SOTTO_EVENT_ACCEPTED);
        }
    }
}

TEST_CASE("changing the budget continuously from four threads breaks nothing") {
    Tight tight(52);
    tight.game.have("npc", script(speaker()));
    tight.game.have("other", rigid(7));
    std::atomic<bool> over{false};
    std::vector<std::thread> threads;
    for (unsigned seed = 0; seed < 4; ++seed) {
        threads.emplace_back([&, seed] {
            std::mt19937 random(seed);
            while (!over) {
                tight.account.set(tight.game.engine(), (random() % 60) * kMegabyte);
                std::this_thread::sleep_for(std::chrono::microseconds(random() % 10'000));
            }
        });
    }
    for (int round = 0; round < 4; ++round) {
        const auto all = ask_many(tight, 3);
        const auto other = tight.game.ask("other", "and me");
        for (const auto request : all) {
            const auto& history = tight.game.finish(request);
            CHECK_MESSAGE(
                ((done(history).status == SOTTO_OK && said(history) == kSpeech) ||
                 (done(history).status == SOTTO_ERROR_BUDGET && said(history).empty())),
                done(history).error
            );
        }
        tight.game.finish(other);
    }
    over = true;
    for (auto& thread : threads) {
        thread.join();
    }
    tight.set(52);
    CHECK(said(tight.game.finish(tight.game.ask("npc", "hi"))) == kSpeech);
}
