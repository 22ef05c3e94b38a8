// Conversion of paths between UTF-8 and the system's encoding.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace sotto {

// Converts a UTF-8 path to the system's form.
inline std::filesystem::path native_path(std::string_view path) {
    return {std::u8string(path.begin(), path.end())};
}

// Converts a path to UTF-8. path::string() would use the current code page on Windows.
inline std::string utf8_of(const std::filesystem::path& path) {
    const auto text = path.u8string();
    return {text.begin(), text.end()};
}

} // namespace sotto
