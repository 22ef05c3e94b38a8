// Splits text into units: letters without case, decoration and disguise, and separators between them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace sotto::guard {

enum class UnitKind : unsigned char {
    letter,
    digit,      // may stand for a letter
    leet,       // a symbol that stands for a letter, such as `@`
    joiner,     // symbols inside a word, such as the hyphen of `ki-ll`
    apostrophe, // a gap that is one apostrophe
    blank,      // a gap of white space only
    gap         // any other gap between words
};

struct Unit {
    std::uint32_t begin; // bytes of the text, with the skipped characters that follow
    std::uint32_t end;
    char32_t letter; // what is written; 0 for a separator
    char32_t symbol; // what all look-alikes share
    UnitKind kind;
    bool upper; // an ASCII capital

    bool is_separator() const noexcept { return kind >= UnitKind::joiner; }
    bool is_gap() const noexcept { return kind >= UnitKind::apostrophe; }
};

// Appends the units of well-formed UTF-8. `own`: letters, in NFC and lower case, that count as letters of
// their own although they look like a decorated one. Consecutive separators are one unit.
void read_units(std::string_view text, std::u32string_view own, std::vector<Unit>& units);

// Returns the size of `text` without last characters whose meaning depends on the character that follows.
std::size_t decided_size(std::string_view text) noexcept;

} // namespace sotto::guard
