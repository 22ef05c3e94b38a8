// Cuts UTF-8 between characters, for the engine and for backends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sotto {

// The longest beginning of `text` that has at most `most` bytes and does not end inside a character.
inline std::string_view utf8_cut(std::string_view text, std::size_t most) noexcept {
    if (text.size() <= most) {
        return text;
    }
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) {
        --most;
    }
    return text.substr(0, most);
}

// The same with "..." in place of what was cut off, which does not count.
inline std::string utf8_shortened(std::string_view text, std::size_t most) {
    const auto kept = utf8_cut(text, most);
    return kept.size() == text.size() ? std::string(text) : std::string(kept) + "...";
}

} // namespace sotto
