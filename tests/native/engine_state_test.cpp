// KV caches saved to files and restored from them.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include "base/path.hpp"
#include "core/state/state_blob.hpp"
#include "support/game.hpp"
#include "support/hooks.hpp"
#include "support/tapped_backend.hpp"
#include "text/json_reader.hpp"

using namespace test;
using sotto::Json;
namespace fs = std::filesystem;

namespace {

const std::string kFits = R"({"model":"a1","kv_type":"f16"})";
const std::string kScript =
    R"({"tokens": ["a"], "prompt_tokens": 3, "fingerprint": "{\"model\":\"a1\",\"kv_type\":\"f16\"}"})";

// A temporary folder.
class Folder {
public:
    Folder()
        : path_(
              fs::temp_directory_path() /
              ("sotto_state_test_" + std::to_string(getpid()) + "_" + std::to_string(++made))
          ) {
        fs::remove_all(path_);
        fs::create_directories(path_);
    }
    ~Folder() {
        std::error_code ignored;
        fs::remove_all(path_, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    std::string file(std::string_view name) const { return sotto::utf8_of(path_ / sotto::native_path(name)); }
    std::size_t files() const {
        return static_cast<std::size_t>(
            std::distance(fs::directory_iterator(path_), fs::directory_iterator())
        );
    }

private:
    static inline int made = 0;
    fs::path path_;
};

std::string read(const std::string& path) {
    std::ifstream file(sotto::native_path(path), std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

void write(const std::string& path, std::string_view bytes) {
    std::ofstream(sotto::native_path(path), std::ios::binary) << bytes;
}

const History& save(Game& game, const std::string& path, const char* model = "npc") {
    const auto body = chat(model, "you guard the gate", R"(, "path": )" + test::quoted(path));
    return game.finish(game.submit(body, {}, SOTTO_OP_SAVE_STATE));
}

const History& restore(Game& game, const std::string& path, const char* model = "npc") {
    const auto body = R"({"model": )" + test::quoted(model) + R"(, "path": )" + test::quoted(path) + "}";
    return game.finish(game.submit(body, {}, SOTTO_OP_RESTORE_STATE));
}

// Restores `bytes` from a file and returns the error.
std::string refusal(Game& game, const Folder& folder, std::string_view bytes) {
    const auto path = folder.file("refused.state");
    write(path, bytes);
    const auto& last = done(restore(game, path));
    CHECK(last.status == SOTTO_ERROR_MODEL);
    CHECK(last.json.empty());
    return last.error;
}

} // namespace

TEST_CASE("a state is saved without generating an answer, and restored") {
    const Folder folder;
    Game game;
    game.have("npc", kScript);
    const auto path = folder.file("m\xC3\xA4ra.state");
    const auto& saved = save(game, path);
    CHECK(done(saved).status == SOTTO_OK);
    CHECK(saved.size() == 2); // ACCEPTED and DONE
    CHECK(saved.front().kind == SOTTO_EVENT_ACCEPTED);
    const auto blob = read(path);
    CHECK(blob == sotto::state_blob(kFits, "remembered"));
    const Json told = {{"path", path}, {"tokens", 3}, {"bytes", blob.size()}};
    CHECK(Json::parse(done(saved).json) == told);
    CHECK(folder.files() == 1); // no partial file beside it

    const auto& restored = restore(game, path);
    CHECK(done(restored).status == SOTTO_OK);
    CHECK(Json::parse(done(restored).json) == told);
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "a");
}

TEST_CASE("the state of a text completion's prompt can be saved") {
    const Folder folder;
    Game game;
    game.have("npc", kScript);
    const auto path = folder.file("text.state");
    const auto body = R"({"model": "npc", "prompt": "once", "path": )" + test::quoted(path) + "}";
    CHECK(done(game.finish(game.submit(body, {}, SOTTO_OP_SAVE_STATE))).status == SOTTO_OK);
    CHECK(read(path) == sotto::state_blob(kFits, "remembered"));
}

TEST_CASE("a model without a fingerprint can neither save nor restore") {
    const Folder folder;
    Game game;
    game.have("npc");
    for (const auto* history :
         {&save(game, folder.file("a.state")), &restore(game, folder.file("a.state"))}) {
        CHECK(done(*history).status == SOTTO_ERROR_UNSUPPORTED);
        CHECK(
            done(*history).error ==
            "path: backend 'scripted' does not support saved states; use another model"
        );
    }
    CHECK(folder.files() == 0);
}

TEST_CASE("restoring from a missing file fails") {
    const Folder folder;
    Game game;
    game.have("npc", kScript);
    const auto path = folder.file("nobody.state");
    const auto& missing = done(restore(game, path));
    CHECK(missing.status == SOTTO_ERROR_NOT_FOUND);
    CHECK(missing.error.starts_with("invalid path '" + path + "': expected a file that can be read"));
    const auto& none = done(restore(game, folder.file("")));
    CHECK(none.status == SOTTO_ERROR_ARGUMENT);
    CHECK(
        none.error.ends_with("expected a regular file, but it is a folder; use the path of a regular file")
    );
    const auto& unnamed = done(game.finish(game.submit(chat("npc", "hi"), {}, SOTTO_OP_RESTORE_STATE)));
    CHECK(unnamed.status == SOTTO_ERROR_ARGUMENT);
    CHECK(unnamed.error.starts_with("missing path: expected the file of a state"));
    for (const auto op : {SOTTO_OP_SAVE_STATE, SOTTO_OP_RESTORE_STATE}) {
        const auto empty = chat("npc", "hi", R"(, "path": "")");
        CHECK(done(game.finish(game.submit(empty, {}, op))).status == SOTTO_ERROR_ARGUMENT);
    }
}

TEST_CASE("a state that cannot be written fails and leaves the existing file unchanged") {
    const Folder folder;
    Game game;
    game.have("npc", kScript);
    const auto lost = folder.file("no/such/folder.state");
    CHECK(done(save(game, lost)).status == SOTTO_ERROR_STATE);
    CHECK(
        done(game.all()).error.starts_with("invalid path '" + lost + "': expected a file that can be written")
    );

    const auto taken = folder.file("taken.state");
    fs::create_directories(taken + "/inside");
    CHECK(done(save(game, taken)).status == SOTTO_ERROR_ARGUMENT);
    CHECK(fs::exists(taken + "/inside"));
    CHECK(folder.files() == 1);
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "a");
}

TEST_CASE("saving replaces an existing state atomically") {
    const Folder folder;
    Game game;
    game.have("npc", kScript);
    const auto path = folder.file("mara.state");
    write(path, std::string(10'000, 'x'));
    CHECK(done(save(game, path)).status == SOTTO_OK);
    CHECK(read(path) == sotto::state_blob(kFits, "remembered"));
    CHECK(folder.files() == 1);
}

#ifndef _WIN32 // Windows has other permissions, and no FIFOs
TEST_CASE("a state file is readable by its user only, and replaces only a regular file") {
    const Folder folder;
    Game game;
    game.have("npc", kScript);
    const auto path = folder.file("mara.state");
    CHECK(done(save(game, path)).status == SOTTO_OK);
    CHECK(
        (fs::status(path).permissions() & fs::perms::all) == (fs::perms::owner_read | fs::perms::owner_write)
    );
    const auto link = folder.file("link.state");
    fs::create_symlink(path, link);
    const auto fifo = folder.file("fifo.state");
    REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
    for (const auto& strange : {link, fifo, std::string("/dev/null"), path + '\0' + "more"}) {
        CHECK(done(save(game, strange)).status == SOTTO_ERROR_ARGUMENT);
    }
    for (const auto& strange : {fifo, std::string("/dev/zero"), path + '\0' + "more"}) {
        CHECK(done(restore(game, strange)).status == SOTTO_ERROR_ARGUMENT); // reading it would block forever
    }
    CHECK(fs::is_symlink(link));
    CHECK(fs::is_fifo(fifo));
    CHECK(folder.files() == 3);
    CHECK(done(restore(game, link)).status == SOTTO_OK);
}
#endif

TEST_CASE("a malformed, damaged or foreign state is refused, and the model continues") {
    const Folder folder;
    Game game;
    game.have("npc", kScript);
    const auto blob = sotto::state_blob(kFits, "remembered");
    const auto none = "the state has no header of a Sotto state; save it again";
    CHECK(refusal(game, folder, "") == none);
    CHECK(refusal(game, folder, blob.substr(0, 20)) == none);
    CHECK(refusal(game, folder, std::string(100, 'x')) == none);
    CHECK(
        refusal(game, folder, blob.substr(0, blob.size() - 3)) ==
        "the state is truncated: it has " + std::to_string(blob.size() - 3) + " of its " +
            std::to_string(blob.size()) + " bytes; save it again"
    );
    CHECK(
        refusal(game, folder, blob + "more") ==
        "the state is damaged: the file continues after its end; save it again"
    );
    auto changed = blob;
    changed.back() = 'x';
    CHECK(
        refusal(game, folder, changed) == "the state is damaged: its checksum does not match; save it again"
    );
    auto huge = blob;
    huge[20] = 1; // claims 4 GiB more
    CHECK(
        refusal(game, folder, huge) == "the state has " + std::to_string(blob.size() + (1ULL << 32)) +
                                           " bytes: expected at most 4294967296 for this model"
    );
    CHECK(
        refusal(game, folder, sotto::state_blob(R"({"model":"b2","kv_type":"f16"})", "remembered")) ==
        "the state has model 'b2': expected 'a1'; save it again"
    );
    CHECK(
        refusal(game, folder, sotto::state_blob(kFits, "forgotten")) == "the script remembers something else"
    );
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "a");
}

TEST_CASE("the maximum size of a state follows from the model's memory") {
    const Folder folder;
    Game game;
    game.have("npc", R"({"kv": 1000, "fingerprint": "{}"})");
    auto blob = sotto::state_blob("{}", "remembered");
    blob[19] = 5; // claims 80 MiB more
    CHECK(
        refusal(game, folder, blob) == "the state has " + std::to_string(blob.size() + 80 * 1024 * 1024) +
                                           " bytes: expected at most 67109864 for this model"
    );
}

TEST_CASE("states are read through the host's file functions if it has set them") {
    HostHooks host;
    host.files["saves/mara"] = sotto::state_blob(kFits, "remembered");
    host.files["saves/cut"] = host.files["saves/mara"].substr(0, 50);
    Game game(host.desc());
    game.have("npc", kScript);
    CHECK(done(restore(game, "saves/mara")).status == SOTTO_OK);
    const auto& cut = done(restore(game, "saves/cut"));
    CHECK(cut.status == SOTTO_ERROR_MODEL);
    CHECK(cut.error.starts_with("the state is truncated: it has 50 of its "));
    const auto& missing = done(restore(game, "saves/nobody"));
    CHECK(missing.status == SOTTO_ERROR_NOT_FOUND);
    CHECK(missing.error == "invalid path 'saves/nobody': expected an existing file");
    game.end();
    CHECK(host.files_opened() == 2);
    CHECK(host.files_closed() == 2);
}

TEST_CASE("saving can be cancelled") {
    const Folder folder;
    Held held;
    Game game(held.backend.table());
    game.have("npc", kScript);
    held.gate.shut();
    const auto body = chat("npc", "hi", R"(, "path": )" + test::quoted(folder.file("never.state")));
    const auto request = game.submit(body, {}, SOTTO_OP_SAVE_STATE);
    REQUIRE(held.gate.reached());
    game.cancel(request);
    CHECK(done(game.finish(request)).status == SOTTO_ERROR_CANCELLED);
    held.gate.open();
    game.end();
    CHECK(held.backend.count(Point::close) == 1);
}
