// Delta compression: zstd with similar bytes as the prefix.
#pragma once

#include <cstdint>
#include <string_view>

#include "platform/pages.hpp"

namespace sotto {

// Compresses `bytes` with `like` as the prefix. Throws std::bad_alloc, or
// Error(SOTTO_ERROR_INTERNAL) with zstd's reason.
PageBuffer packed(std::string_view bytes, std::string_view like);

// Decompresses `packed` to the `size` original bytes. Throws Error(SOTTO_ERROR_STATE) if `packed` is damaged
// or was compressed with another prefix than `like`.
PageBuffer unpacked(std::string_view packed, std::string_view like, std::uint64_t size);

} // namespace sotto
