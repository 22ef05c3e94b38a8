#include "store/case_fold.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>

namespace sotto::store {
namespace {

struct Range {
    std::uint32_t first;
    std::uint32_t last;
    std::uint32_t step;
    std::int32_t distance;
};

constexpr Range kRanges[] = {
#include "store/case_fold.inc"
};

struct Decoded {
    std::uint32_t character;
    std::size_t size; // 0: not UTF-8
};

// Decodes the character at the start of `text`. Overlong forms and surrogates are not told apart: none folds.
Decoded decode(std::string_view text) noexcept {
    const auto first = static_cast<unsigned char>(text[0]);
    const std::size_t size = first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (size == 0 || size > text.size() || first > 0xF4) {
        return {0, 0};
    }
    constexpr std::array<unsigned char, 5> kMasks{0, 0x7F, 0x1F, 0x0F, 0x07};
    std::uint32_t character = first & kMasks[size];
    for (std::size_t i = 1; i < size; ++i) {
        const auto next = static_cast<unsigned char>(text[i]);
        if ((next & 0xC0) != 0x80) {
            return {0, 0};
        }
        character = character << 6 | (next & 0x3F);
    }
    return {character, size};
}

void encode(std::uint32_t c, std::string& out) {
    const auto byte = [&](std::uint32_t bits) { out += static_cast<char>(bits); };
    if (c < 0x80) {
        byte(c);
    } else if (c < 0x800) {
        byte(0xC0 | c >> 6);
        byte(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
        byte(0xE0 | c >> 12);
        byte(0x80 | (c >> 6 & 0x3F));
        byte(0x80 | (c & 0x3F));
    } else {
        byte(0xF0 | c >> 18);
        byte(0x80 | (c >> 12 & 0x3F));
        byte(0x80 | (c >> 6 & 0x3F));
        byte(0x80 | (c & 0x3F));
    }
}

std::uint32_t fold(std::uint32_t c) noexcept {
    const auto* range = std::upper_bound(
        std::begin(kRanges), std::end(kRanges), c, [](std::uint32_t value, const Range& one) {
            return value < one.first;
        }
    );
    if (range == std::begin(kRanges)) {
        return c;
    }
    --range;
    const bool inside = c <= range->last && (c - range->first) % range->step == 0;
    return inside ? c + static_cast<std::uint32_t>(range->distance) : c;
}

} // namespace

std::string folded(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        const auto [character, size] = decode(text);
        if (size == 0) {
            out += text[0];
            text.remove_prefix(1);
            continue;
        }
        const auto to = fold(character);
        if (to == character) {
            out.append(text.substr(0, size));
        } else {
            encode(to, out);
        }
        text.remove_prefix(size);
    }
    return out;
}

} // namespace sotto::store
