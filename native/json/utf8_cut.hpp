// Cuts UTF-8 at character boundaries. Shared by the engine and the backends.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sotto {

// Returns the longest prefix of `text` of at most `most` bytes that ends at a character boundary.
inline std::string_view utf8_cut(std::string_view text, std::size_t most) noexcept {
    if (text.size() <= most) {
        return text;
    }
    while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0) == 0x80) {
        --most;
    }
    return text.substr(0, most);
}

// Like utf8_cut(), but appends "..." if anything was cut; the dots are not counted in `most`.
inline std::string utf8_shortened(std::string_view text, std::size_t most) {
    const auto kept = utf8_cut(text, most);
    return kept.size() == text.size() ? std::string(text) : std::string(kept) + "...";
}

} // namespace sotto
