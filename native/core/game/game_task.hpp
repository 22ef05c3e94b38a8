// Writes a save game, or reads one, on the file thread.
#pragma once

#include <string>
#include <vector>

#include "core/game/game_state.hpp"
#include "core/state/state_file.hpp"

namespace sotto {

class GameWrite : public StateTask {
public:
    GameWrite(std::string path, std::vector<NamedFile> files, GameState state)
        : StateTask(std::move(path)), files_(std::move(files)), state_(std::move(state)) {}

    // The response once the task is done.
    std::string response() const;

private:
    void run() override;

    const std::vector<NamedFile> files_;
    GameState state_;
    GameCounts counts_;
};

class GameRead : public StateTask {
public:
    // `files`: where to write files of the save game.
    GameRead(std::string path, std::vector<NamedFile> files, const Hooks& hooks)
        : StateTask(std::move(path)), files_(std::move(files)), access_(hooks.files),
          outlives_(hooks.outlives) {}

    GameState take() noexcept { return std::move(state_); }
    GameCounts& counts() noexcept { return counts_; }
    std::string response() const;

private:
    void run() override;

    const std::vector<NamedFile> files_;
    const std::optional<sotto_file_access> access_;
    const std::shared_ptr<Outlives> outlives_;
    GameState state_;
    GameCounts counts_;
};

} // namespace sotto
