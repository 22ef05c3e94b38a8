// Paths as hosts say them.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sotto {

// The system's form of a path in UTF-8.
inline std::filesystem::path native_path(std::string_view path) {
    return {std::u8string(path.begin(), path.end())};
}

// A path of the system's in UTF-8. path::string() is in whatever code page Windows is set to.
inline std::string utf8_of(const std::filesystem::path& path) {
    const auto text = path.u8string();
    return {text.begin(), text.end()};
}

} // namespace sotto
