// What the phrase checker knows of Unicode: letters without case and decoration, and look-alikes.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace sotto::guard {

enum class CharClass : unsigned char {
    letter,  // part of a word; digits too
    skipped, // without a width of its own, or a mark that decorates a letter
    joiner,  // a symbol or picture, which does not separate words
    gap      // white space and punctuation
};

// Not for ASCII, which text_units.cpp classifies.
CharClass class_of(char32_t c) noexcept;

// The letters that one character stands for, in NFKC, case-folded and without decoration.
struct Letters {
    static constexpr std::size_t kMax = 20;
    std::array<char32_t, kMax> at;
    std::size_t count;
};
Letters letters_of(char32_t c) noexcept;

// Returns the symbol that stands for all letters which look like `letter`: the ASCII letter if there is one,
// with `i` for `l` and letters for digits.
char32_t symbol_of(char32_t letter) noexcept;
// Returns the symbol of a capital that looks like another letter than its lower case does; otherwise 0.
char32_t capital_symbol_of(char32_t capital) noexcept;
// The same, for the lower-case letter.
char32_t symbol_of_capital_of(char32_t letter) noexcept;
// Returns the ASCII letter that a symbol such as the euro sign stands for, or 0.
char32_t lookalike_of(char32_t symbol) noexcept;

// Returns true if the letter belongs to a script that writes no spaces between words.
bool is_spaceless(char32_t letter) noexcept;
bool is_hangul(char32_t letter) noexcept;

// Decodes the character at `position` of well-formed UTF-8 and advances `position`.
char32_t next_character(std::string_view text, std::size_t& position) noexcept;

} // namespace sotto::guard
