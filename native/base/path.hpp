// Paths as hosts say them.
#pragma once

#include <filesystem>
#include <string_view>

namespace sotto {

// The system's form of a path in UTF-8.
inline std::filesystem::path native_path(std::string_view path) {
    return {std::u8string(path.begin(), path.end())};
}

} // namespace sotto
