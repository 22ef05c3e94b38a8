// Writes a save game, chunk by chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/game/game_state.hpp"
#include "platform/file.hpp"

namespace sotto {

class GameWriter {
public:
    // `advanced`: called with a fraction from 0 to 1 while writing.
    GameWriter(const std::string& path, std::function<void(float)> advanced)
        : file_({"path", path}), advanced_(std::move(advanced)) {}

    // Writes the whole file, which replaces an earlier one once it is complete. Throws Error, and leaves an
    // earlier file as it was, if it cannot be written, or one of `files` cannot be read. Call once.
    GameCounts write(const GameState& state, const std::vector<NamedFile>& files);

private:
    void chunk(std::uint32_t type, std::uint32_t flags, std::initializer_list<std::string_view> payload);
    void add_messages(const Talk& talk);
    void flush_messages();
    void add_kv(const SavedSession& session);
    void add_file(const NamedFile& file);
    std::string numbers_of(const Talk& talk) const;
    void advance();

    FileReplacement file_;
    const std::function<void(float)> advanced_;
    std::unordered_map<const std::string*, std::uint64_t> numbers_; // of messages
    std::string messages_;                                          // not written yet
    std::string checksums_;
    GameCounts counts_;
    std::uint64_t steps_ = 0;
    std::uint64_t done_ = 0;
};

} // namespace sotto
