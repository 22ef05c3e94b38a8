// Keeps the bytes that a model says well-formed UTF-8, where llama.cpp's grammars do not.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::llama {

// Which of a model's tokens begin with a byte that stands inside a character.
class InnerTokens {
public:
    using Speller = std::function<void(std::int32_t token, std::string& bytes)>;

    InnerTokens(std::int32_t count, const Speller& spell);

    // Those that begin with a byte from `first` to `last`.
    std::span<const std::int32_t> between(std::uint8_t first, std::uint8_t last) const;

private:
    static constexpr std::uint8_t kFirst = 0x80;
    static constexpr std::uint8_t kLast = 0xBF;

    std::vector<std::int32_t> tokens_; // by the byte that they begin with
    std::vector<std::size_t> starts_;  // where those of each byte start, and where the last end
};

// Follows one answer. A grammar takes E0 82 80 for the character that C2 80 is, and readers of UTF-8 do not:
// they see three characters that are none, which a grammar did not count.
class WellFormed {
public:
    explicit WellFormed(const InnerTokens& tokens) : tokens_(&tokens) {}

    void said(std::string_view bytes);

    // Takes the tokens out that cannot come next.
    void mask(float* logits) const;

private:
    const InnerTokens* tokens_;
    std::uint8_t lead_ = 0; // the last byte, where it begins a character; else 0
};

} // namespace sotto::llama
