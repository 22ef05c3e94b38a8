// The texts of a vocabulary's tokens, sorted for matching against a grammar.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::llama {

// An incomplete UTF-8 character.
struct PartialCharacter {
    char32_t value = 0;        // bits of the bytes so far
    std::uint32_t missing = 0; // bytes to come

    // The lowest and the highest character that the missing bytes can complete.
    char32_t first() const;
    char32_t last() const;
};

// Decodes `bytes` after `partial`, appends complete characters to `text`, and stores an incomplete last
// character in `partial`. Returns false for ill-formed UTF-8.
bool read_utf8(std::string_view bytes, PartialCharacter& partial, std::u32string& text);

class TokenTexts {
public:
    using TextOf = std::function<std::string(std::int32_t token)>;

    struct Token {
        std::int32_t token;
        std::uint32_t begin;      // index of its first character
        std::uint16_t length;     // in characters
        std::uint16_t shared;     // length of the prefix in common with the token before
        PartialCharacter partial; // incomplete last character
    };

    // Tokens that are empty, contain NUL, or are ill-formed UTF-8 by themselves go to irregular().
    TokenTexts(std::int32_t count, const TextOf& text_of);
    // Returns the bytes of memory that the texts of a vocabulary take, without building them.
    static std::uint64_t bytes_of(std::int32_t count, const TextOf& text_of);

    // Tokens that are not in irregular(), sorted by their characters.
    std::span<const Token> tokens() const noexcept { return tokens_; }
    const char32_t* characters(const Token& token) const { return characters_.data() + token.begin; }
    std::size_t longest() const noexcept { return longest_; } // in characters

    // Tokens that are not in tokens().
    std::span<const std::int32_t> irregular() const noexcept { return irregular_; }

private:
    std::vector<Token> tokens_;
    std::u32string characters_;
    std::vector<std::int32_t> irregular_;
    std::size_t longest_ = 0;
};

} // namespace sotto::llama
