// The text that the automaton reads: one symbol for each run of look-alike letters, one space for each gap.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "guard/text_units.hpp"

namespace sotto::guard {

// A word or a part of one: the units between two gaps.
struct Segment {
    std::size_t first; // index of its first unit
    std::size_t last;
    std::size_t letters;   // number of units that are no separators
    bool consonants;       // at most three Latin letters, none of them a vowel: no word
    bool spaceless;        // of a script without spaces
    bool after_apostrophe; // the end of a contraction
};

std::vector<Segment> read_segments(const std::vector<Unit>& units);

// Returns true if the gap between two segments is a disguise: `k i l l`, `ki ll`. Depends on the segments
// alone.
bool is_split(const Segment& before, const Unit& gap, const Segment& after) noexcept;

// Appends the UTF-8 of a symbol.
void append_symbol(std::string& text, char32_t symbol);

// The symbols of some units, and which units each byte stands for.
class Symbols {
public:
    // Reserves memory for the symbols of `units` units.
    void reserve(std::size_t units);
    // Adds a unit. A letter with the symbol of the letter before belongs to the same run.
    void add(const Unit& unit, std::size_t index);
    // Adds the space between two words.
    void add_gap(std::size_t index);

    const std::string& text() const noexcept { return text_; }
    std::size_t first_unit(std::size_t byte) const noexcept { return first_[byte]; }
    std::size_t last_unit(std::size_t byte) const noexcept { return last_[byte]; }

private:
    void fill(std::size_t index);

    std::string text_;
    std::vector<std::uint32_t> first_; // for each byte
    std::vector<std::uint32_t> last_;
    char32_t before_ = 0; // symbol of the last run
    std::size_t run_ = 0; // first byte of the last run
};

} // namespace sotto::guard
