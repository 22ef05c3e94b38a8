// Format of a save game.
//
//   bytes  field, numbers are little-endian
//   8      magic "SOTTO\0SG"
//   4      format version, 1
//   4      0
//   then chunks, each:
//   4      type
//   4      flags: 1: a reader that does not know the type must refuse the file; others skip the chunk
//   8      size of the payload in bytes
//   8      XXH3-64 of the payload, with the first 16 bytes of the chunk before it
//   ...    payload
//
//   type   payload
//   "HEAD" JSON: the library's version
//   "MSGS" messages: for each 4 bytes of length, then JSON. Their numbers count from 0 through all chunks
//   "SESS" a session, JSON: id, model, pinned, lora, numbers of its messages
//   "RESP" a stored response, JSON: id, model, numbers of its messages; the least recently used first
//   "KVST" KV cache of the session before: 4 bytes of length, JSON (session, model), then a state blob (see
//          core/state/state_blob.hpp). Optional: without it the session is prefilled from its text
//   "FILE" a file of the game, such as a backup of a store: 4 bytes of length, JSON (name), then its bytes
//   "DONE" 8 bytes: number of chunks before; 8 bytes: XXH3-64 of their checksums. The file ends here
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "core/state/little_endian.hpp"

namespace sotto::game {

constexpr std::string_view kMagic("SOTTO\0SG", 8);
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kFileHeader = 16;
constexpr std::size_t kChunkHeader = 24;
constexpr std::uint32_t kRequired = 1;

constexpr std::uint32_t type_of(const char (&name)[5]) noexcept {
    std::uint32_t type = 0;
    for (int i = 3; i >= 0; --i) {
        type = type << 8 | static_cast<unsigned char>(name[i]);
    }
    return type;
}

constexpr std::uint32_t kHead = type_of("HEAD");
constexpr std::uint32_t kMessages = type_of("MSGS");
constexpr std::uint32_t kSession = type_of("SESS");
constexpr std::uint32_t kResponse = type_of("RESP");
constexpr std::uint32_t kKvState = type_of("KVST");
constexpr std::uint32_t kFile = type_of("FILE");
constexpr std::uint32_t kDone = type_of("DONE");

using little_endian::get;
using little_endian::put;

// The XXH3-64 of texts, one after the other.
class Checksum {
public:
    Checksum();
    ~Checksum();
    Checksum(const Checksum&) = delete;
    Checksum& operator=(const Checksum&) = delete;

    void add(std::string_view text) noexcept;
    std::uint64_t value() const noexcept;

private:
    struct State;
    const std::unique_ptr<State> state_;
};

std::uint64_t checksum(std::initializer_list<std::string_view> parts);

} // namespace sotto::game
