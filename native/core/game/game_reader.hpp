// Reads a save game, chunk by chunk. Trusts nothing in the file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "core/game/game_format.hpp"
#include "core/game/game_state.hpp"
#include "core/state/state_file.hpp"
#include "platform/file.hpp"

namespace sotto {

class GameReader {
public:
    // `wanted`: where to write files of the save game. `advanced`: called with a fraction from 0 to 1 while
    // reading.
    GameReader(FileReader& file, std::vector<NamedFile> wanted, std::function<void(float)> advanced)
        : file_(file), wanted_(std::move(wanted)), advanced_(std::move(advanced)) {}

    // Reads the whole file. Throws Error(SOTTO_ERROR_MODEL) with the reason if it is no save game, was cut
    // off, is damaged, or was written by a newer library; Error(SOTTO_ERROR_NOT_FOUND) if it lacks a file
    // that is wanted.
    GameState read(GameCounts& counts);
    // Makes the files that were wanted visible under their names. Call after read().
    void commit_files();

private:
    struct Chunk {
        std::uint32_t type = 0;
        std::uint32_t flags = 0;
        std::uint64_t size = 0;
        std::uint64_t checksum = 0;
        std::string header; // the part that the checksum covers
    };

    // The JSON with which a payload begins, behind the 4 bytes of its length.
    struct Head {
        std::string length;
        std::string json;
        std::uint64_t rest = 0; // bytes of the payload behind them
    };

    std::string take(std::uint64_t size);
    Head take_head(const Chunk& chunk);
    Chunk next_chunk();
    std::string payload_of(const Chunk& chunk);
    void check(const Chunk& chunk, std::initializer_list<std::string_view> payload);
    void skip(const Chunk& chunk);
    void stream(const Chunk& chunk, std::uint64_t size, game::Checksum& sum, FileReplacement* out);
    FileReplacement* replacement_of(const std::string& head);
    void add(const Chunk& chunk);
    void add_messages(std::string_view payload);
    void add_session(const std::string& payload);
    void add_response(const std::string& payload);
    void add_kv(const Chunk& chunk);
    void add_file(const Chunk& chunk);
    void check_end(const Chunk& chunk);
    std::vector<Message> messages_of(const Json& object) const;

    FileReader& file_;
    const std::vector<NamedFile> wanted_;
    const std::function<void(float)> advanced_;
    std::uint64_t at_ = 0; // offset in the file
    std::string checksums_;
    std::vector<Message> messages_;
    GameState state_;
    std::unordered_set<std::string> ids_;                           // of sessions
    std::map<std::string, std::unique_ptr<FileReplacement>> files_; // by name; null: not wanted
};

} // namespace sotto
