// Decodes the texts of a vocabulary's tokens and sorts them for matching against a grammar.
#include "token/token_texts.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr std::uint32_t kBitsPerByte = 6; // value bits of a continuation byte
constexpr std::size_t kMaxLength = UINT16_MAX;

// Decodes the first byte of a character. Returns false if no character begins with `byte`.
bool begin_character(std::uint8_t byte, PartialCharacter& partial) {
    if (byte < 0x80) {
        partial = {byte, 0};
    } else if (byte >= 0xC2 && byte < 0xE0) { // C0 and C1 are never valid
        partial = {byte & 0x1Fu, 1};
    } else if (byte >= 0xE0 && byte < 0xF0) {
        partial = {byte & 0x0Fu, 2};
    } else if (byte >= 0xF0 && byte < 0xF8) {
        partial = {byte & 0x07u, 3};
    } else {
        return false;
    }
    return true;
}

// Decodes the text of each token. Calls regular(token, text, partial), or irregular(token).
template <typename Regular, typename Irregular>
void for_each(
    std::int32_t count, const TokenTexts::TextOf& text_of, const Regular& regular, const Irregular& irregular
) {
    std::u32string text;
    for (std::int32_t token = 0; token < count; ++token) {
        const auto bytes = text_of(token);
        PartialCharacter partial;
        text.clear();
        const bool plain = !bytes.empty() && bytes.find('\0') == std::string::npos;
        if (plain && read_utf8(bytes, partial, text) && text.size() <= kMaxLength) {
            regular(token, text, partial);
        } else {
            irregular(token);
        }
    }
}

// Lengths of the lists of a vocabulary's texts.
struct Sizes {
    std::size_t tokens = 0;
    std::size_t characters = 0;
    std::size_t irregular = 0;
};

Sizes sizes_of(std::int32_t count, const TokenTexts::TextOf& text_of) {
    Sizes sizes;
    for_each(
        count,
        text_of,
        [&](std::int32_t, const std::u32string& text, const PartialCharacter&) {
            ++sizes.tokens;
            sizes.characters += text.size();
        },
        [&](std::int32_t) { ++sizes.irregular; }
    );
    return sizes;
}

} // namespace

char32_t PartialCharacter::first() const {
    const auto least = value << (missing * kBitsPerByte);
    if (least != 0) {
        return least;
    }
    return missing == 2 ? 0x800 : missing == 3 ? 0x10000 : 0; // smaller values would be overlong
}

char32_t PartialCharacter::last() const {
    return value << (missing * kBitsPerByte) | ((char32_t{1} << (missing * kBitsPerByte)) - 1);
}

bool read_utf8(std::string_view bytes, PartialCharacter& partial, std::u32string& text) {
    for (const char c : bytes) {
        const auto byte = static_cast<std::uint8_t>(c);
        if (partial.missing == 0) {
            if (!begin_character(byte, partial)) {
                return false;
            }
        } else if ((byte & 0xC0) == 0x80) {
            partial = {partial.value << kBitsPerByte | (byte & 0x3Fu), partial.missing - 1};
        } else {
            return false;
        }
        if (partial.missing == 0) {
            text.push_back(partial.value);
            partial = {};
        }
    }
    return true;
}

std::uint64_t TokenTexts::bytes_of(std::int32_t count, const TextOf& text_of) {
    const auto sizes = sizes_of(count, text_of);
    return sizes.tokens * sizeof(Token) + sizes.characters * sizeof(char32_t) +
           sizes.irregular * sizeof(std::int32_t);
}

TokenTexts::TokenTexts(std::int32_t count, const TextOf& text_of) {
    const auto sizes = sizes_of(count, text_of);
    tokens_.reserve(sizes.tokens);
    characters_.reserve(sizes.characters);
    irregular_.reserve(sizes.irregular);
    for_each(
        count,
        text_of,
        [&](std::int32_t token, const std::u32string& text, const PartialCharacter& partial) {
            const auto begin = static_cast<std::uint32_t>(characters_.size());
            tokens_.push_back({token, begin, static_cast<std::uint16_t>(text.size()), 0, partial});
            characters_ += text;
            longest_ = std::max(longest_, text.size());
        },
        [&](std::int32_t token) { irregular_.push_back(token); }
    );
    const auto view = [&](const Token& token) {
        return std::u32string_view(characters_).substr(token.begin, token.length);
    };
    std::sort(tokens_.begin(), tokens_.end(), [&](const Token& one, const Token& other) {
        return view(one) < view(other);
    });
    for (std::size_t i = 1; i < tokens_.size(); ++i) {
        const auto before = view(tokens_[i - 1]);
        const auto now = view(tokens_[i]);
        const auto ends = std::mismatch(before.begin(), before.end(), now.begin(), now.end());
        tokens_[i].shared = static_cast<std::uint16_t>(ends.first - before.begin());
    }
}

} // namespace sotto::llama
