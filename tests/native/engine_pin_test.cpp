// Pinned sessions keep their slots between turns, as far as the model has slots.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/budget.hpp"
#include "support/folder.hpp"
#include "support/restoring.hpp"
#include "support/session.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

constexpr const char* kPinned = R"(, "pinned": true)";
const std::string kParks =
    R"(, "parkable": true, "prompt_tokens": 5, "token_ms": 1, "fingerprint": "{\"model\": \"npc\"}")";
constexpr std::uint64_t kRoom = 1 << 20;

// Text of a number of words, generated slowly.
std::string speech(int words) {
    std::string text = "0";
    for (int i = 1; i < words; ++i) {
        text += " " + std::to_string(i);
    }
    return text;
}

// A model with several endless answers.
struct Inn {
    explicit Inn(std::uint32_t streams, std::uint64_t megabytes = 0, const std::string& more = kParks)
        : tight(megabytes, restoring(), {folder.text(), kRoom}) {
        tight.game.have("npc", script({.streams = streams, .gives = R"(["places"])", .more = more}));
    }

    // Starts `count` endless answers, which all get slots.
    void crowd(int count) {
        for (int i = 0; i < count; ++i) {
            gossips.push_back(tight.game.ask("npc", speech(20'000)));
        }
        for (const auto one : gossips) {
            tight.game.until_told(one, SOTTO_EVENT_TEXT);
        }
    }
    // Cancels the endless answers.
    void hush() {
        for (const auto one : gossips) {
            tight.game.cancel(one);
            CHECK(done(tight.game.finish(one)).status == SOTTO_ERROR_CANCELLED);
        }
        gossips.clear();
    }
    // Returns true if a new request gets no slot.
    bool is_full() {
        const auto late = tight.game.ask("npc", "me too");
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        tight.game.drain();
        const bool waits = count(tight.game.of(late), SOTTO_EVENT_TEXT) == 0;
        tight.game.cancel(late);
        tight.game.finish(late);
        return waits;
    }
    bool has_room() { return said(tight.game.finish(tight.game.ask("npc", "me too"))) == "me too"; }
    Told change(std::string_view session, bool pinned) {
        return asked(
            tight.game,
            SOTTO_OP_CHANGE_SESSION,
            about(session, pinned ? R"(, "pinned": true)" : R"(, "pinned": false)")
        );
    }

    const Folder folder;
    Tight tight;
    std::vector<sotto_request> gossips;
};

} // namespace

TEST_CASE("a pinned session keeps its slot and is not parked") {
    Inn inn(2);
    Session mara(inn.tight.game, "mara", kPinned);
    Session tobin(inn.tight.game, "tobin");
    Session oswin(inn.tight.game, "oswin");
    for (const char* word : {"one", "two", "three"}) {
        const int before = g_restored;
        for (auto* one : {&mara, &tobin, &oswin}) {
            CHECK(one->turn(word) == word);
        }
        CHECK(inn.tight.game.until([&] { return inn.tight.memory()["parked"]["count"] == 2; }));
        // the pinned session's KV cache is still in its slot
        CHECK(g_restored - before == (word == std::string("one") ? 0 : 2));
    }
    CHECK(mara.lines().size() == 6);
}

TEST_CASE("a pinned session is answered at once while others wait") {
    Inn inn(2);
    Session mara(inn.tight.game, "mara", kPinned);
    CHECK(mara.turn("one") == "one");
    inn.crowd(1);
    CHECK(inn.is_full());
    for (const char* word : {"two", "three"}) {
        CHECK(mara.turn(word) == word);
    }
    CHECK(inn.is_full());
    inn.hush();
    CHECK(inn.has_room());
}

TEST_CASE("a session pinned during or after its first answer keeps its slot from then on") {
    Inn inn(2);
    Session mara(inn.tight.game, "mara");
    Session tobin(inn.tight.game, "tobin");
    CHECK(mara.turn("one") == "one");
    CHECK(inn.change("mara", true).status == SOTTO_OK);
    CHECK(mara.turn("two") == "two");
    inn.crowd(1);
    CHECK(mara.turn("three") == "three");
    inn.hush();
    CHECK(inn.change("mara", false).status == SOTTO_OK);
    const auto speaks = tobin.say(speech(30));
    inn.tight.game.until_told(speaks, SOTTO_EVENT_TEXT);
    CHECK(inn.change("tobin", true).status == SOTTO_OK);
    CHECK(said(inn.tight.game.finish(speaks)) == speech(30));
    inn.crowd(1);
    CHECK(tobin.turn("four") == "four");
}

TEST_CASE("an unpinned or closed session frees its slot") {
    for (const bool closes : {false, true}) {
        Inn inn(2);
        Session mara(inn.tight.game, "mara", kPinned);
        CHECK(mara.turn("one") == "one");
        inn.crowd(1);
        CHECK(inn.is_full());
        if (closes) {
            mara.close();
        } else {
            const auto told = inn.change("mara", false);
            CHECK(Json::parse(told.json) == Json::parse(R"({"object": "session", "session": "mara",
                "model": "npc", "messages": 2})"));
        }
        CHECK(inn.has_room());
        CHECK(inn.tight.model("npc")["streams"] == 2);
        if (!closes) {
            CHECK(mara.turn("two") == "two");
        }
    }
}

TEST_CASE("a cancelled turn leaves the slot to its session") {
    Inn inn(2);
    Session mara(inn.tight.game, "mara", kPinned);
    for (int i = 0; i < 3; ++i) {
        const auto speaks = mara.say(speech(20'000));
        inn.tight.game.until_told(speaks, SOTTO_EVENT_TEXT);
        inn.tight.game.cancel(speaks);
        CHECK(done(inn.tight.game.finish(speaks)).status == SOTTO_ERROR_CANCELLED);
    }
    inn.crowd(1);
    CHECK(mara.turn("one") == "one");
    const auto waits = mara.say(speech(20'000));
    inn.tight.game.cancel(waits); // before or after it has started
    CHECK(done(inn.tight.game.finish(waits)).status == SOTTO_ERROR_CANCELLED);
    CHECK(mara.turn("two") == "two");
}

TEST_CASE("at least one slot of a model stays unpinned") {
    Inn inn(3);
    const std::string npc = R"(, "model": "npc")";
    Session mara(inn.tight.game, "mara", npc + kPinned);
    Session tobin(inn.tight.game, "tobin", npc + kPinned);
    Session oswin(inn.tight.game, "oswin", npc);
    const std::string why =
        " cannot be pinned: model 'npc' has 3 slots, one stays unpinned, and 2 sessions are pinned; unpin a "
        "session, or load the model with a larger \"parallel\"";
    const auto refused = inn.change("oswin", true);
    CHECK(refused.status == SOTTO_ERROR_BUDGET);
    CHECK(refused.error == "session 'oswin'" + why);
    const auto opened = asked(inn.tight.game, SOTTO_OP_OPEN_SESSION, about("late", npc + kPinned));
    CHECK(opened.status == SOTTO_ERROR_BUDGET);
    CHECK(opened.error == "session 'late'" + why);
    CHECK(asked(inn.tight.game, SOTTO_OP_READ_SESSION, about("late")).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(inn.change("mara", true).status == SOTTO_OK); // it is pinned already
    CHECK(inn.change("tobin", false).status == SOTTO_OK);
    CHECK(inn.change("oswin", true).status == SOTTO_OK);
    CHECK(oswin.read()["pinned"] == true);
    CHECK(!tobin.read().contains("pinned"));
}

TEST_CASE("if more sessions are pinned than there are slots, the first to be answered keep theirs") {
    Inn inn(3);
    std::vector<Session> all;
    for (const char* id : {"a", "b", "c"}) {
        all.emplace_back(inn.tight.game, id, kPinned); // no model is known yet
    }
    for (auto& one : all) {
        CHECK(one.turn("one") == "one");
    }
    inn.crowd(1); // one slot is left for it
    CHECK(all[0].turn("two") == "two");
    CHECK(all[1].turn("two") == "two");
    const auto waits = all[2].say("two");
    CHECK(inn.is_full());
    CHECK(count(inn.tight.game.of(waits), SOTTO_EVENT_TEXT) == 0);
    inn.hush();
    CHECK(said(inn.tight.game.finish(waits)) == "two");
}

TEST_CASE("a model that cannot park keeps no slots for pinned sessions") {
    Inn inn(2, 0, R"(, "prompt_tokens": 5, "token_ms": 1)");
    Session mara(inn.tight.game, "mara", kPinned);
    CHECK(mara.turn("one") == "one");
    inn.crowd(2);
    inn.hush();
    CHECK(mara.turn("two") == "two");
}

TEST_CASE("a pinned session that uses another model frees its slot in the first one") {
    Inn inn(2);
    inn.tight.game.have("other", script({.streams = 2, .more = kParks}));
    Session mara(inn.tight.game, "mara", kPinned);
    CHECK(mara.turn("one") == "one");
    const auto elsewhere = inn.tight.game.submit(chat("other", "two", R"(, "session": "mara")"));
    CHECK(said(inn.tight.game.finish(elsewhere)) == "two");
    inn.crowd(2);
    inn.hush();
    CHECK(mara.turn("three") == "three");
}

TEST_CASE("models are unloaded and engines destroyed while slots are pinned") {
    for (const bool unloads : {true, false}) {
        Inn inn(3);
        Session mara(inn.tight.game, "mara", kPinned);
        CHECK(mara.turn("one") == "one");
        if (unloads) {
            CHECK(done(inn.tight.game.finish(inn.tight.game.unload("npc"))).status == SOTTO_OK);
            CHECK(inn.tight.model("npc").empty());
            inn.tight.game.have("npc", script({.streams = 3, .more = kParks}));
            CHECK(mara.turn("two") == "two");
        }
    }
}

TEST_CASE("when the budget drops, slots of decoding streams are freed before a pinned one") {
    Inn inn(4, 52);
    Session mara(inn.tight.game, "mara", kPinned);
    CHECK(mara.turn("one") == "one");
    inn.crowd(3);
    inn.tight.set(32); // two slots: the pinned one, and one for three others
    inn.tight.settle();
    CHECK(inn.tight.model("npc")["streams"] == 2);
    CHECK(inn.tight.game.until([&] { return inn.tight.stats().parked == 2; }));
    const int before = g_restored;
    CHECK(mara.turn("two") == "two"); // no other answer has ended yet
    CHECK(g_restored > before);       // the pinned session was parked and restored
    CHECK(mara.turn("three") == "three");
    CHECK(inn.tight.stats().parked == 2);
    inn.tight.set(22); // one slot: even the pinned one is freed
    inn.tight.settle();
    CHECK(inn.tight.game.until([&] { // a parked stream has been restored to it
        return inn.tight.model("npc")["streams"] == 1 && inn.tight.stats().decoding == 1;
    }));
    const auto waits = mara.say("four");
    CHECK(inn.is_full());
    CHECK(count(inn.tight.game.of(waits), SOTTO_EVENT_TEXT) == 0);
    inn.hush();
    CHECK(said(inn.tight.game.finish(waits)) == "four");
    inn.tight.set(52);
    CHECK(mara.turn("five") == "five");
    CHECK(mara.lines().size() == 10);
}

TEST_CASE("order of eviction: models without pins, then unused slots, then all") {
    Inn inn(4, 104);
    inn.tight.game.have("other", script({.gives = R"(["places"])", .more = kParks}));
    Session mara(inn.tight.game, "mara", kPinned);
    CHECK(mara.turn("one") == "one");
    CHECK(said(inn.tight.game.finish(inn.tight.game.ask("other", "I was asked later"))).size() > 0);
    const auto restored = [&] {
        const int before = g_restored;
        mara.turn("again");
        return g_restored - before;
    };
    inn.tight.set(52);
    inn.tight.settle();
    CHECK(inn.tight.model("npc")["streams"] == 4);
    CHECK(inn.tight.model("other").value("kv", 0) == 0);
    CHECK(restored() == 0);
    inn.tight.set(32);
    inn.tight.settle();
    CHECK(inn.tight.model("npc")["streams"] == 2); // the pinned slot and one more
    CHECK(inn.tight.model("other")["state"] == "evicted");
    CHECK(restored() == 1);
    inn.crowd(1);
    CHECK(restored() == 0); // without parking
    inn.hush();
    inn.tight.set(11);
    inn.tight.settle();
    CHECK(inn.tight.model("npc").value("kv", 0) == 0);
    inn.tight.set(52);
    CHECK(restored() == 1);
}

TEST_CASE("a model that cannot resize is evicted even with a pinned slot, if necessary") {
    Inn inn(2, 32, kParks);
    inn.tight.game.have("stiff", script({.weights = 0, .place = 0, .compute = 0, .more = kParks}));
    Session mara(inn.tight.game, "mara", kPinned);
    const auto turn = [&](const char* word) {
        return said(
            inn.tight.game.finish(inn.tight.game.submit(chat("stiff", word, R"(, "session": "mara")")))
        );
    };
    CHECK(turn("one") == "one");
    inn.tight.game.have("large", script({.weights = 30, .place = 1, .compute = 0, .streams = 2}));
    CHECK(turn("two") == "two");
    CHECK(mara.lines().size() == 4);
}

TEST_CASE("fields of pinning are validated by name") {
    Game game;
    Session mara(game, "mara");
    const auto change = [&](std::string_view more) {
        return asked(game, SOTTO_OP_CHANGE_SESSION, about("mara", more));
    };
    const auto absent = change("");
    CHECK(absent.status == SOTTO_ERROR_ARGUMENT);
    CHECK(absent.error == "missing pinned: expected true or false, unless system or lora is set");
    const auto odd = change(R"(, "pinned": "yes")");
    CHECK(odd.status == SOTTO_ERROR_ARGUMENT);
    CHECK(odd.error == "invalid pinned 'yes': expected true or false");
    const auto nobody = asked(game, SOTTO_OP_CHANGE_SESSION, about("nobody", kPinned));
    CHECK(nobody.status == SOTTO_ERROR_NOT_FOUND);
    CHECK(Json::parse(change(kPinned).json)["pinned"] == true);
    Session fork(game, "fork", R"(, "from": "mara")");
    CHECK(!fork.read().contains("pinned"));
    auto exported = mara.read();
    exported["session"] = "again";
    CHECK(asked(game, SOTTO_OP_OPEN_SESSION, sotto::to_text(exported)).status == SOTTO_OK);
    CHECK(Json::parse(asked(game, SOTTO_OP_READ_SESSION, about("again")).json)["pinned"] == true);
}
