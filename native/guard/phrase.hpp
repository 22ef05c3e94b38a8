// Decides whether a place in a text where the symbols of a phrase stand is the phrase.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "guard/symbols.hpp"
#include "guard/text_units.hpp"

namespace sotto::guard {

// A phrase as configured, read into units.
struct Phrase {
    std::vector<Unit> units;
    bool begins_anywhere; // also inside a word
    bool ends_anywhere;
};

enum class Outcome {
    no,
    yes,
    undecided // depends on text that follows
};

// A text, or the part of one that has arrived.
struct TextView {
    std::string_view bytes;
    const std::vector<Unit>& units;
    bool whole; // no text follows
};

// Whether a word may begin before unit `first`, and end after unit `last`.
Outcome begins_word(const TextView& text, std::size_t first) noexcept;
Outcome ends_word(const TextView& text, std::size_t last) noexcept;

// Decides whether the units from `first` to `last`, whose symbols are those of the phrase, are the phrase.
Outcome verify(const Phrase& phrase, const TextView& text, std::size_t first, std::size_t last);

} // namespace sotto::guard
