// Files of a vector index, for tests that change them.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#define XXH_INLINE_ALL
#include <hash/xxhash/xxhash.h>

namespace test {

constexpr std::size_t kIndexHeader = 128;
constexpr std::size_t kIndexChecksumAt = 64;

// Sets the checksum that the bytes of an index should have. Does nothing to bytes without a whole header.
inline void correct_index_checksum(std::string& bytes) {
    if (bytes.size() < kIndexHeader) {
        return;
    }
    std::string header = bytes.substr(0, kIndexHeader);
    std::memset(header.data() + kIndexChecksumAt, 0, sizeof(std::uint64_t));
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, bytes.data() + kIndexHeader, bytes.size() - kIndexHeader);
    XXH3_64bits_update(&state, header.data(), header.size());
    const std::uint64_t sum = XXH3_64bits_digest(&state);
    std::memcpy(bytes.data() + kIndexChecksumAt, &sum, sizeof sum);
}

} // namespace test
