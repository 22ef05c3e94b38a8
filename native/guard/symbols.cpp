#include "guard/symbols.hpp"

#include <algorithm>

#include "guard/unicode.hpp"

namespace sotto::guard {
namespace {

bool is_consonant(const Unit& unit) noexcept {
    const auto written = unit.letter < 0x80 && unit.kind == UnitKind::letter ? unit.letter : unit.symbol;
    return written < 0x80 &&
           std::string_view("aeiouy").find(static_cast<char>(written)) == std::string_view::npos;
}

Segment read_segment(const std::vector<Unit>& units, std::size_t first) {
    Segment segment{first, first, 0, true, true, false};
    bool written = false; // a letter is there, not only digits and symbols
    for (std::size_t i = first; i < units.size() && !units[i].is_gap(); ++i) {
        segment.last = i;
        if (units[i].is_separator()) {
            continue;
        }
        ++segment.letters;
        written = written || units[i].kind == UnitKind::letter;
        segment.consonants = segment.consonants && is_consonant(units[i]);
        segment.spaceless = segment.spaceless && is_spaceless(units[i].letter);
    }
    segment.consonants = segment.consonants && written && segment.letters <= 3;
    segment.spaceless = segment.spaceless && segment.letters > 0;
    segment.after_apostrophe = first > 0 && units[first - 1].kind == UnitKind::apostrophe;
    return segment;
}

} // namespace

std::vector<Segment> read_segments(const std::vector<Unit>& units) {
    std::vector<Segment> segments;
    for (std::size_t i = 0; i < units.size(); ++i) {
        if (!units[i].is_gap()) {
            segments.push_back(read_segment(units, i));
            i = segments.back().last;
        }
    }
    return segments;
}

bool is_split(const Segment& before, const Unit& gap, const Segment& after) noexcept {
    if (before.letters <= 1 && after.letters <= 1) {
        return true;
    }
    if (gap.kind != UnitKind::blank) {
        return false;
    }
    return (before.consonants && !before.after_apostrophe) || after.consonants ||
           (before.spaceless && after.spaceless);
}

void append_symbol(std::string& text, char32_t symbol) {
    const auto put = [&](char32_t bits) { text.push_back(static_cast<char>(bits)); };
    if (symbol < 0x80) {
        put(symbol);
    } else if (symbol < 0x800) {
        put(0xC0 | symbol >> 6);
        put(0x80 | (symbol & 0x3F));
    } else if (symbol < 0x10000) {
        put(0xE0 | symbol >> 12);
        put(0x80 | (symbol >> 6 & 0x3F));
        put(0x80 | (symbol & 0x3F));
    } else {
        put(0xF0 | symbol >> 18);
        put(0x80 | (symbol >> 12 & 0x3F));
        put(0x80 | (symbol >> 6 & 0x3F));
        put(0x80 | (symbol & 0x3F));
    }
}

void Symbols::reserve(std::size_t units) {
    text_.reserve(units);
    first_.reserve(units);
    last_.reserve(units);
}

void Symbols::add(const Unit& unit, std::size_t index) {
    if (unit.is_separator()) {
        return;
    }
    if (unit.symbol == before_) {
        std::fill(
            last_.begin() + static_cast<std::ptrdiff_t>(run_), last_.end(), static_cast<std::uint32_t>(index)
        );
        return;
    }
    before_ = unit.symbol;
    run_ = text_.size();
    append_symbol(text_, unit.symbol);
    fill(index);
}

void Symbols::add_gap(std::size_t index) {
    before_ = 0;
    run_ = text_.size();
    text_.push_back(' ');
    fill(index);
}

void Symbols::fill(std::size_t index) {
    first_.resize(text_.size(), static_cast<std::uint32_t>(index));
    last_.resize(text_.size(), static_cast<std::uint32_t>(index));
}

} // namespace sotto::guard
