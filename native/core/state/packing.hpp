// Bytes made smaller by what they have in common with others: zstd, with those as its prefix.
#pragma once

#include <cstdint>
#include <string_view>

#include "platform/pages.hpp"

namespace sotto {

// Throws std::bad_alloc, or Error(SOTTO_ERROR_INTERNAL) with zstd's reason.
PageBuffer packed(std::string_view bytes, std::string_view like);

// The `size` bytes that were packed. Throws Error(SOTTO_ERROR_STATE) where they are damaged, or `like` is
// another.
PageBuffer unpacked(std::string_view packed, std::string_view like, std::uint64_t size);

} // namespace sotto
