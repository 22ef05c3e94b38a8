#include "core/game/game_task.hpp"

#include <filesystem>
#include <set>

#include "base/error.hpp"
#include "base/path.hpp"
#include "core/game/game_reader.hpp"
#include "core/game/game_writer.hpp"
#include "store/store_files.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

std::string game_json(const std::string& path, const GameCounts& counts) {
    return to_text(
        Ordered{
            {"path", path},
            {"sessions", counts.sessions},
            {"responses", counts.responses},
            {"messages", counts.messages},
            {"kv_states", counts.kv_states},
            {"files", counts.files},
            {"bytes", counts.bytes},
        }
    );
}

// Throws Error(SOTTO_ERROR_ARGUMENT) if two of the files, or a file and the save game, are written to one
// path.
void check_targets(const std::string& path, const std::vector<NamedFile>& files) {
    std::error_code error;
    std::set<std::filesystem::path> targets{std::filesystem::weakly_canonical(native_path(path), error)};
    for (const auto& file : files) {
        if (!targets.insert(std::filesystem::weakly_canonical(native_path(file.path), error)).second) {
            throw invalid_argument("files." + file.name, file.path, "a path of its own");
        }
    }
}

} // namespace

void GameWrite::run() {
    store::refuse_open_store({"path", path_});
    GameWriter writer(path_, [this](float done) { advance(done); });
    counts_ = writer.write(state_, files_);
    state_ = {}; // freed here, not on the control thread
}

std::string GameWrite::response() const {
    return game_json(path_, counts_);
}

void GameRead::run() {
    store::refuse_open_store({"path", path_});
    check_targets(path_, files_);
    const auto file = open_reader(path_, access_, outlives_);
    GameReader reader(*file, files_, [this](float done) { advance(done); });
    state_ = reader.read(counts_);
    advance(1);
    reader.commit_files();
}

std::string GameRead::response() const {
    return game_json(path_, counts_);
}

} // namespace sotto
