// Parked KV caches: in memory, in spill files, and with neither available.
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/budget.hpp"
#include "support/folder.hpp"
#include "support/restoring.hpp"
#include "support/scratch.hpp"
#include "support/session.hpp"
#include "support/tapped_backend.hpp"

using namespace test;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kState = 1000; // bytes of each KV cache
constexpr std::uint64_t kRoom = 1 << 20;

using Harm = std::function<void(const fs::path&)>;

// Overwrites a part of each KV cache in the file.
void write_over(const fs::path& file, const std::string& bytes) {
    constexpr std::uintmax_t kEach = 4096; // alignment of KV caches in the file
    const auto size = fs::file_size(file);
    std::fstream out(file, std::ios::in | std::ios::out | std::ios::binary);
    for (std::uintmax_t at = kState / 2; at < size; at += kEach) {
        out.seekp(static_cast<std::streamoff>(at));
        out << bytes;
    }
}

// Ways to damage a spill file.
const std::vector<Harm>& harms() {
    static const std::vector<Harm> all = {
        [](const fs::path& file) { fs::resize_file(file, 0); },
        [](const fs::path& file) { fs::resize_file(file, kState / 2); },
        [](const fs::path& file) { write_over(file, "odd"); },
        [](const fs::path& file) { write_over(file, std::string(kState, '\0')); },
    };
    return all;
}

std::string keeps_state(const std::string& more = "") {
    return R"(, "parkable": true, "fingerprint": "{\"model\": \"npc\"}", "state": ")" +
           std::string(kState, 's') + "\"" + more;
}

// Three sessions on one slot: those not answering are parked.
class Characters {
public:
    Characters(const Folder& folder, std::uint64_t memory) : tight(0, restoring(), {folder.text(), memory}) {
        tight.game.have("npc", script({.streams = 1, .more = keeps_state()}));
        for (const char* id : {"mara", "tobin", "oswin"}) {
            all.emplace_back(tight.game, id, R"(, "model": "npc")");
        }
    }

    // Each session answers once. Returns the number of restored KV caches.
    int talk(const std::string& word) {
        const int before = g_restored;
        for (auto& one : all) {
            CHECK(one.turn(word) == word);
        }
        return g_restored - before;
    }
    // Waits until `count` KV caches are parked, and returns the report.
    Json parked(std::size_t count) {
        CHECK(tight.game.until([&] { return tight.memory()["parked"]["count"] == count; }));
        return tight.memory()["parked"];
    }

    Tight tight;
    std::vector<Session> all;
};

// A backend that also blocks when a stream is unparked.
struct PausedUnparking : Paused {
    PausedUnparking() {
        backend.tap = [this, stand = backend.tap](Point point, const sotto_step* step) {
            stand(point, step);
            if (point == Point::unpark) {
                unparking.pass();
            }
        };
    }

    Gate unparking;
};

// Four streams decode in four slots, of which three are then removed.
class Crowd {
public:
    explicit Crowd(const Folder& folder) : tight(52, paused_.backend.table(), {folder.text(), kRoom}) {
        tight.game.have(
            "npc",
            script({.gives = R"(["places"])", .more = keeps_state(R"(, "token_ms": 2, "lost_tokens": 9)")})
        );
        for (int i = 0; i < 50; ++i) {
            speech_ += (i == 0 ? "" : " ") + std::to_string(i);
        }
        paused_.pause_at(4);
        for (int i = 0; i < 4; ++i) {
            all_.push_back(tight.game.ask("npc", speech_));
        }
        REQUIRE(paused_.holds());
        tight.set(22);
        paused_.unparking.shut();
        paused_.go_on();
        REQUIRE(paused_.unparking.holds()); // all are parked, and none was restored yet
    }
    ~Crowd() { paused_.unparking.open(); }
    Crowd(const Crowd&) = delete;
    Crowd& operator=(const Crowd&) = delete;

    // Lets all streams finish, and checks their complete answers.
    void go_on() {
        paused_.unparking.open();
        for (const auto request : all_) {
            const auto& history = tight.game.finish(request);
            CHECK_MESSAGE(done(history).status == SOTTO_OK, done(history).error);
            CHECK(said(history) == speech_);
        }
        CHECK(tight.game.until([&] { return tight.memory()["parked"]["count"] == 0; }));
    }

private:
    PausedUnparking paused_;
    std::string speech_;
    std::vector<sotto_request> all_;

public:
    Tight tight;
};

} // namespace

TEST_CASE("a parked KV cache is kept in memory and restored into the model") {
    const Folder folder;
    Characters characters(folder, kRoom);
    CHECK(characters.talk("one") == 0);
    const auto parked = characters.parked(3);
    CHECK(parked["memory"] >= kState); // their common prefix is stored once
    CHECK(parked["disk"] == 0);
    CHECK(characters.tight.memory()["uses"]["spilled_kv"]["used"] == parked["memory"]);
    CHECK(characters.tight.model("npc")["spilled_kv"] == parked["memory"]);
    CHECK(characters.tight.stats().bytes_parked == parked["memory"]);
    CHECK(folder.files().empty());
    CHECK(characters.talk("two") >= 2); // one KV cache may still be in the slot
    CHECK(characters.all[0].lines().size() == 4);
}

TEST_CASE("KV caches that exceed kv_spill_memory are spilled to files, which are removed at the end") {
    const Folder folder;
    {
        Characters characters(folder, kState / 2);
        characters.talk("one");
        const auto parked = characters.parked(3);
        CHECK(parked["memory"] <= kState / 2);
        CHECK(parked["disk"] >= kState);
        CHECK(!scratch_files(folder.path()).empty());
        CHECK(folder.files().empty()); // a killed process would leave no file
        CHECK(characters.talk("two") >= 2);
    }
    CHECK(folder.files().empty());
}

TEST_CASE("over the watermark, parked KV caches are compressed in the background") {
    const Folder folder;
    Characters characters(folder, 4 * kState);
    for (const char* word : {"one", "two", "three"}) {
        CHECK(characters.talk(word) >= (word == std::string("one") ? 0 : 2));
        const auto& tight = characters.tight;
        CHECK(characters.tight.game.until([&] { return tight.memory()["parked"]["memory"] < 2 * kState; }));
        CHECK(characters.parked(3)["disk"] < 2 * kState); // one, if compression was slower than the turns
    }
}

TEST_CASE("a KV cache of another model's format is tried once and then dropped") {
    const Folder folder;
    Characters characters(folder, kRoom);
    characters.talk("one");
    characters.parked(3);
    auto& game = characters.tight.game;
    CHECK(done(game.finish(game.unload("npc"))).status == SOTTO_OK);
    const std::string other = R"(, "parkable": true, "fingerprint": "{\"model\": \"other\"}")";
    game.have("npc", script({.streams = 4, .more = other})); // all have slots, and are not parked again
    CHECK(characters.talk("two") == 0);
    characters.parked(0);
    CHECK(characters.all[0].lines() == Lines{"user: one", "assistant: one", "user: two", "assistant: two"});
}

TEST_CASE("the KV cache of a closed session is dropped") {
    const Folder folder;
    Characters characters(folder, kRoom);
    characters.talk("one");
    characters.parked(3);
    characters.all.back().close();
    characters.parked(2);
    characters.all.pop_back();
    CHECK(characters.talk("two") >= 1);
}

TEST_CASE("a session whose spill file is missing, truncated or changed prefills its text again") {
    for (const auto& harm : harms()) {
        const Folder folder;
        Characters characters(folder, 1);
        characters.talk("one");
        characters.parked(3);
        const auto files = scratch_files(folder.path());
        REQUIRE(files.size() == 1);
        for (const auto& file : files) {
            harm(file);
        }
        CHECK(characters.talk("two") == 0);
        CHECK(
            characters.all[0].lines() == Lines{"user: one", "assistant: one", "user: two", "assistant: two"}
        );
    }
}

TEST_CASE("without a writable folder, sessions prefill their text again") {
    const Folder folder;
    Characters characters(folder, 1);
    fs::remove(folder.path());
    characters.talk("one");
    CHECK(characters.talk("two") == 0);
    characters.parked(0);
}

TEST_CASE("an invalid spill folder is refused by its parameter's name") {
    const Folder folder;
    const auto file = (folder.path() / "a file").string();
    std::ofstream(file) << "no folder";
    for (const auto& path : {file, folder.text() + "/nowhere"}) {
        auto desc = plain_desc();
        desc.kv_spill_dir = str(path);
        sotto_engine* engine = nullptr;
        CHECK(sotto_engine_create(&desc, &engine) == SOTTO_ERROR_ARGUMENT);
        CHECK(
            last_error() ==
            "invalid desc->kv_spill_dir '" + path + "': expected an existing folder; create it first"
        );
        CHECK(engine == nullptr);
    }
}

TEST_CASE("parked KV caches use no memory that the budget lacks") {
    const Folder folder;
    Crowd crowd(folder);
    const auto parked = crowd.tight.memory()["parked"];
    CHECK(parked["count"] == 4);
    CHECK(parked["memory"] == 0);
    CHECK(parked["disk"] >= 4 * kState);
    CHECK(scratch_files(folder.path()).size() == 1); // one file descriptor for all KV caches
    CHECK(crowd.tight.memory()["over"] == 0);
    crowd.go_on();
}

TEST_CASE("a preempted stream whose spill file is missing, truncated or changed prefills its text again") {
    for (const auto& harm : harms()) {
        const Folder folder;
        Crowd crowd(folder);
        for (const auto& file : scratch_files(folder.path())) {
            harm(file);
        }
        crowd.go_on();
    }
}

TEST_CASE("destroying an engine removes all spill files") {
    const Folder folder;
    {
        const Crowd crowd(folder);
        REQUIRE(scratch_files(folder.path()).size() == 1);
    }
    CHECK(folder.files().empty());
    CHECK(scratch_files(folder.path()).empty());
}

TEST_CASE("cancelling a parked stream leaves nothing behind") {
    const Folder folder;
    Tight tight(52, scripted(), {folder.text(), kRoom});
    tight.game.have(
        "npc",
        script(
            {.gives = R"(["places"])",
             .more = keeps_state(R"(, "tokens": ["a"], "loop": true, "token_ms": 1)")}
        )
    );
    std::vector<sotto_request> all;
    for (int i = 0; i < 4; ++i) {
        all.push_back(tight.game.ask("npc", "hi"));
        tight.game.until_told(all.back(), SOTTO_EVENT_TEXT);
    }
    tight.set(22);
    tight.settle();
    REQUIRE(tight.game.until([&] { return tight.stats().parked == 3; }));
    for (const auto request : all) {
        tight.game.cancel(request);
    }
    for (const auto request : all) {
        CHECK(done(tight.game.finish(request)).status == SOTTO_ERROR_CANCELLED);
    }
    CHECK(tight.game.until([&] { return tight.memory()["parked"]["count"] == 0; }));
    CHECK(tight.memory()["uses"]["spilled_kv"]["used"] == 0);
}
