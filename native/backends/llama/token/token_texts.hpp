// The characters of a vocabulary's tokens, sorted, so that a grammar can be compared with all of them at
// once.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::llama {

// A character of UTF-8 of which some bytes are still to come.
struct PartialCharacter {
    char32_t value = 0;        // of the bytes so far
    std::uint32_t missing = 0; // bytes

    // The characters that it may become.
    char32_t first() const;
    char32_t last() const;
};

// Reads `bytes` after `partial`, appends whole characters to `text`, and leaves in `partial` what is begun at
// the end. Returns false for what is no UTF-8.
bool read_utf8(std::string_view bytes, PartialCharacter& partial, std::u32string& text);

class TokenTexts {
public:
    using Speller = std::function<std::string(std::int32_t token)>;

    struct Token {
        std::int32_t token;
        std::uint32_t begin;      // of its characters
        std::uint16_t length;     // of these
        std::uint16_t shared;     // characters that the token before begins with too
        PartialCharacter partial; // that the token ends with
    };

    // Leaves tokens out that are empty, contain NUL, or are no UTF-8 where a character begins.
    TokenTexts(std::int32_t count, const Speller& spell);

    // Sorted by their characters.
    std::span<const Token> tokens() const noexcept { return tokens_; }
    const char32_t* characters(const Token& token) const { return characters_.data() + token.begin; }
    std::size_t longest() const noexcept { return longest_; } // in characters

    // All other tokens.
    std::span<const std::int32_t> unreadable() const noexcept { return unreadable_; }

private:
    std::vector<Token> tokens_;
    std::u32string characters_;
    std::vector<std::int32_t> unreadable_;
    std::size_t longest_ = 0;
};

} // namespace sotto::llama
