// A disk that hangs: other streams continue, and the engine can be destroyed.
#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "core/state/state_blob.hpp"
#include "support/budget.hpp"
#include "support/folder.hpp"
#include "support/hooks.hpp"
#include "support/restoring.hpp"
#include "support/session.hpp"
#include "support/slow_disk.hpp"
#include "text/json_reader.hpp"

using namespace test;
namespace fs = std::filesystem;

namespace {

constexpr std::size_t kState = 1000; // bytes of each KV cache
const std::string kFits = R"({"model":"a1"})";
const std::string kScript = R"({"tokens": ["a"], "prompt_tokens": 3, "fingerprint": "{\"model\":\"a1\"}"})";

// Makes the disk hang, until the end of the scope however the test ends.
struct Hanging {
    Hanging() { g_disk.hang(); }
    ~Hanging() { g_disk.recover(); }
};

std::string stateful(const std::string& path) {
    return chat("npc", "you guard the gate", R"(, "path": )" + test::quoted(path));
}

bool disk_waits() {
    for (int i = 0; i < kPatience && g_disk.waiting() == 0; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return g_disk.waiting() > 0;
}

double seconds_to_end(Game& game) {
    const auto begin = std::chrono::steady_clock::now();
    game.end();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void check_files(sotto_op op) {
    const Folder folder;
    const auto path = (folder.path() / "a.state").string();
    std::ofstream(path, std::ios::binary) << sotto::state_blob(kFits, "remembered");
    Game game;
    game.have("npc", kScript);
    const Hanging hanging;
    const auto first = game.submit(stateful(path), {}, op);
    const auto second = game.submit(stateful(path), {}, op);
    REQUIRE(disk_waits());
    // the file being written has no name that a killed process would leave
    CHECK(folder.files().size() == 1);
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "a"); // another stream decodes
    game.cancel(second);
    CHECK(done(game.finish(second)).status == SOTTO_ERROR_CANCELLED);
    // the engine waits half a second; without that limit it would wait forever
    CHECK(seconds_to_end(game) < 5);
    CHECK(game.of(first).back().kind == SOTTO_EVENT_ACCEPTED);
}

// Returns the number of log lines that report the end of a recording.
std::size_t stops(const HostHooks& host) {
    const auto lines = host.lines();
    return static_cast<std::size_t>(std::count_if(lines.begin(), lines.end(), [](const auto& line) {
        return line.level == SOTTO_LOG_ERROR && line.text.find("the recording") != std::string::npos &&
               line.text.find("the disk is too slow") != std::string::npos;
    }));
}

// Several sessions on one slot, with all of their KV caches spilled to a file.
class Characters {
public:
    explicit Characters(const Folder& folder) : tight(0, restoring(), {folder.text(), 1}) {
        const std::string keeps = R"(, "parkable": true, "fingerprint": "{\"model\": \"npc\"}", "state": ")" +
                                  std::string(kState, 's') + "\"";
        tight.game.have("npc", script({.streams = 1, .more = keeps}));
        tight.game.have("other", script({.streams = 1}));
        for (const char* id : {"mara", "tobin", "oswin"}) {
            all.emplace_back(tight.game, id, R"(, "model": "npc")");
        }
    }

    Tight tight;
    std::vector<Session> all;
};

} // namespace

TEST_CASE("while the disk hangs during a save, other streams decode and the engine can be destroyed") {
    check_files(SOTTO_OP_SAVE_STATE);
}

TEST_CASE("while the disk hangs during a restore, other streams decode and the engine can be destroyed") {
    check_files(SOTTO_OP_RESTORE_STATE);
}

TEST_CASE("two concurrent saves to one path both leave a complete state") {
    const Folder folder;
    const auto path = (folder.path() / "a.state").string();
    Game game;
    game.have("npc", kScript);
    std::vector<sotto_request> all;
    for (int i = 0; i < 20; ++i) {
        all.push_back(game.submit(stateful(path), {}, SOTTO_OP_SAVE_STATE));
    }
    for (const auto request : all) {
        CHECK(done(game.finish(request)).status == SOTTO_OK);
    }
    CHECK(folder.files().size() == 1);
    CHECK(fs::file_size(path) == sotto::state_blob(kFits, "remembered").size());
}

TEST_CASE("a state and its directory entry are on the disk before the request ends") {
    const Folder folder;
    const auto path = (folder.path() / "a.state").string();
    Game game;
    game.have("npc", kScript);
    SUBCASE("the file system can name a complete file") {}
    SUBCASE("the file is visible under its name from the start") {
        g_disk.refuse_links(true);
    }
    const auto files = g_disk.file_syncs();
    const auto folders = g_disk.folder_syncs();
    CHECK(done(game.finish(game.submit(stateful(path), {}, SOTTO_OP_SAVE_STATE))).status == SOTTO_OK);
    CHECK(g_disk.file_syncs() > files);
    CHECK(g_disk.folder_syncs() == folders + 1);
    if (!g_disk.refuses_links()) {
        // otherwise a power failure could leave the name without the bytes
        CHECK(g_disk.syncs_before_name() > files);
    }
    g_disk.refuse_links(false);
    CHECK(fs::file_size(path) == sotto::state_blob(kFits, "remembered").size());
    CHECK(folder.files().size() == 1);
}

TEST_CASE("a stream whose spilled KV cache cannot be read prefills its text again") {
    const Folder folder;
    Characters characters(folder);
    auto& game = characters.tight.game;
    for (auto& one : characters.all) {
        CHECK(one.turn("one") == "one");
    }
    CHECK(game.until([&] { return characters.tight.memory()["parked"]["disk"] >= 3 * kState; }));
    {
        const Hanging hanging;
        const int before = g_restored;
        for (auto& one : characters.all) {
            CHECK(one.turn("two") == "two");
        }
        CHECK(g_restored == before);
        CHECK(said(game.finish(game.ask("other", "hi"))) != "");
    }
    for (auto& one : characters.all) {
        CHECK(one.turn("three") == "three");
    }
}

TEST_CASE("a stream whose KV cache cannot be written is dropped from the cache, and the engine ends") {
    const Folder folder;
    Characters characters(folder);
    auto& game = characters.tight.game;
    const Hanging hanging;
    for (const char* word : {"one", "two"}) {
        for (auto& one : characters.all) {
            CHECK(one.turn(word) == word);
        }
    }
    REQUIRE(disk_waits());
    CHECK(seconds_to_end(game) < 5);
}

TEST_CASE("while the disk hangs during a recording, streams decode and the engine can be destroyed") {
    const Folder folder;
    const auto path = (folder.path() / "a.jsonl").string();
    HostHooks host;
    auto desc = plain_desc();
    const auto log = *host.desc().log;
    desc.log = &log;
    desc.record_path = str(path);
    Game game(desc);
    game.have("npc", kScript);
    const Hanging hanging;
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "a");
    REQUIRE(disk_waits());
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "a");
    SUBCASE("the disk hangs until the engine is destroyed") {
        CHECK(stops(host) == 0);
    }
    SUBCASE("the recording stops when its queue is full") {
        const std::string long_text(1 << 20, 'x');
        for (int i = 0; i < 12; ++i) {
            CHECK(said(game.finish(game.ask("npc", long_text))) == "a");
        }
        CHECK(game.until([&] { return stops(host) == 1; }));
    }
    CHECK(seconds_to_end(game) < 5);
    CHECK(stops(host) == 1);
}

TEST_CASE("a recording is complete once its engine is destroyed, even if the disk was slow") {
    const Folder folder;
    const auto path = (folder.path() / "a.jsonl").string();
    auto desc = plain_desc();
    desc.record_path = str(path);
    Game game(desc);
    game.have("npc", kScript);
    {
        const Hanging hanging;
        CHECK(said(game.finish(game.ask("npc", "hi"))) == "a");
        REQUIRE(disk_waits());
        CHECK(said(game.finish(game.ask("npc", "hi again"))) == "a");
    }
    game.end();
    sotto_str json{};
    REQUIRE_MESSAGE(sotto_replay(str(path), &json) == SOTTO_OK, last_error());
    const auto told = sotto::Json::parse(text_of(json));
    CHECK(told["streams"] == 2);
    CHECK(told["same"] == told["decisions"]);
}
