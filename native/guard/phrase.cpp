#include "guard/phrase.hpp"

#include <algorithm>

#include "guard/unicode.hpp"

namespace sotto::guard {
namespace {

// A letter of a phrase, and how often it stands there in a row.
struct LetterRun {
    char32_t letter;
    char32_t symbol;
    std::size_t count;
};

std::vector<LetterRun> runs_of(const std::vector<Unit>& units) {
    std::vector<LetterRun> runs;
    bool separate = true;
    for (const auto& unit : units) {
        if (unit.is_gap()) {
            separate = true;
        } else if (!unit.is_separator()) {
            if (separate || runs.back().letter != unit.letter) {
                runs.push_back({unit.letter, unit.symbol, 0});
            }
            ++runs.back().count;
            separate = false;
        }
    }
    return runs;
}

bool is_ascii(char32_t c) noexcept {
    return c < 0x80;
}

// The units of a place in the text, without separators.
std::vector<const Unit*> letters_of_place(const TextView& text, std::size_t first, std::size_t last) {
    std::vector<const Unit*> found;
    for (std::size_t i = first; i <= last; ++i) {
        if (!text.units[i].is_separator()) {
            found.push_back(&text.units[i]);
        }
    }
    return found;
}

// Compares the letters of a place with those of a phrase.
class Alignment {
public:
    Alignment(const std::vector<LetterRun>& runs, const std::vector<const Unit*>& text)
        : runs_(runs), text_(text) {}

    bool matches() const { return matches(0, 0, 0); }

private:
    // `stretched`: number of runs that stand twice in the text and once in the phrase.
    bool matches(std::size_t run, std::size_t at, unsigned stretched) const {
        if (run == runs_.size()) {
            return at == text_.size() && stretched != 1; // one doubled letter is another word: god, good
        }
        const auto count = runs_[run].count;
        for (std::size_t n = 1; at + n <= text_.size() && could_be(at + n - 1, runs_[run]); ++n) {
            const bool longer = n > count;
            if (n < count || (last_of_run(run) && at + n < text_.size() && could_be(at + n, runs_[run]))) {
                continue;
            }
            const unsigned doubled = longer && n < 3 ? 1 : longer ? 2 : 0;
            if (matches(run + 1, at + n, std::min(stretched + doubled, 2U))) {
                return true;
            }
        }
        return false;
    }

    // Returns true if the next run of letters has another symbol: then this run matches as many as there are.
    bool last_of_run(std::size_t run) const noexcept {
        return run + 1 == runs_.size() || runs_[run + 1].symbol != runs_[run].symbol;
    }

    bool could_be(std::size_t at, const LetterRun& run) const noexcept {
        const Unit& unit = *text_[at];
        if (unit.letter == run.letter) {
            return true;
        }
        const bool digit = run.letter >= '0' && run.letter <= '9';
        if (unit.symbol != run.symbol || digit) { // a digit of a phrase is itself alone
            return false;
        }
        const bool both = unit.kind == UnitKind::letter && is_ascii(unit.letter) && is_ascii(run.letter);
        return !both ||
               (unit.letter == 'i' ? unit.upper && has_beside(false) : !unit.upper && has_beside(true));
    }

    // A capital I stands for l beside small letters, a small l for i beside capitals.
    bool has_beside(bool upper) const noexcept {
        return std::any_of(text_.begin(), text_.end(), [&](const Unit* unit) {
            return unit->kind == UnitKind::letter && is_ascii(unit->letter) && unit->upper == upper &&
                   unit->symbol != U'i';
        });
    }

    const std::vector<LetterRun>& runs_;
    const std::vector<const Unit*>& text_;
};

// Numbers and product names are no words in disguise: 455, A55.
bool is_written(const std::vector<const Unit*>& place, const Phrase& phrase) {
    std::size_t letters = 0;
    std::size_t digits = 0;
    std::size_t changes = 0;
    for (std::size_t i = 0; i < place.size(); ++i) {
        const bool digit = place[i]->kind == UnitKind::digit;
        ++(digit ? digits : letters);
        changes += i > 0 && digit != (place[i - 1]->kind == UnitKind::digit) ? 1 : 0;
    }
    const bool numeric = std::any_of(phrase.units.begin(), phrase.units.end(), [](const Unit& unit) {
        return unit.kind == UnitKind::digit;
    });
    return numeric || digits == 0 || (letters > 0 && (letters >= digits || changes >= 2));
}

// The alphabets whose letters look like Latin ones.
int alphabet_of(char32_t letter) noexcept {
    return letter >= 0x370 && letter < 0x400   ? 1
           : letter >= 0x400 && letter < 0x530 ? 2
           : letter >= 0x530 && letter < 0x590 ? 3
           : letter < 0x370                    ? 0
                                               : 4;
}

// Returns the alphabet of the nearest letter before or behind a place, or -1.
int neighbor_alphabet(const TextView& text, std::size_t place, int direction) noexcept {
    for (auto i = static_cast<std::ptrdiff_t>(place) + direction;
         i >= 0 && i < static_cast<std::ptrdiff_t>(text.units.size());
         i += direction) {
        if (text.units[static_cast<std::size_t>(i)].kind == UnitKind::letter) {
            return alphabet_of(text.units[static_cast<std::size_t>(i)].letter);
        }
    }
    return -1;
}

// A word whose letters are all of another alphabet than the phrase's is a word of another language, if its
// neighbors are of that alphabet too.
Outcome is_disguise(
    const Phrase& phrase,
    const std::vector<const Unit*>& place,
    const TextView& text,
    std::size_t first,
    std::size_t last
) {
    const int alphabet = alphabet_of(place.front()->letter);
    const bool foreign = alphabet != 0 && alphabet != alphabet_of(phrase.units.front().letter) &&
                         std::all_of(place.begin(), place.end(), [&](const Unit* unit) {
                             return unit->kind == UnitKind::letter && alphabet_of(unit->letter) == alphabet;
                         });
    if (!foreign) {
        return Outcome::yes;
    }
    if (neighbor_alphabet(text, first, -1) == alphabet) {
        return Outcome::no;
    }
    const int behind = neighbor_alphabet(text, last, 1);
    return behind == alphabet ? Outcome::no : behind < 0 && !text.whole ? Outcome::undecided : Outcome::yes;
}

bool is_word_of_one_letter(const Unit& unit) noexcept {
    return unit.letter < 0x80 &&
           std::string_view("aiouy").find(static_cast<char>(unit.letter)) != std::string_view::npos;
}

std::string_view bytes_of(const TextView& text, std::size_t unit) noexcept {
    return text.bytes.substr(text.units[unit].begin, text.units[unit].end - text.units[unit].begin);
}

// Returns true if unit `at` is a letter that stands alone and is no word. `open`: more text decides.
bool is_lone_letter(const TextView& text, std::size_t at, int direction, bool& open) noexcept {
    const auto& units = text.units;
    if (units[at].kind != UnitKind::letter || is_word_of_one_letter(units[at])) {
        return false;
    }
    const auto beyond = at + static_cast<std::size_t>(direction); // wraps around before the first unit
    open = beyond == units.size() && !text.whole;
    return beyond >= units.size() || units[beyond].is_separator();
}

// Returns true if separators part all letters of a place, which the phrase does not have.
bool is_spelled(const Phrase& phrase, const TextView& text, std::size_t first, std::size_t last) {
    std::size_t separators = 0;
    std::size_t letters = 0;
    for (std::size_t i = first; i <= last; ++i) {
        ++(text.units[i].is_separator() ? separators : letters);
    }
    const auto written = std::count_if(phrase.units.begin(), phrase.units.end(), [](const Unit& unit) {
        return unit.is_separator();
    });
    return letters > 1 && separators + 1 == letters && static_cast<std::ptrdiff_t>(separators) > written;
}

// In a longer word that is spelled letter by letter, as in c-l-a-s-s, a part is not found. Another separator,
// or the same phrase again, is no longer word.
Outcome is_whole_spelling(const TextView& text, std::size_t first, std::size_t last) {
    const auto& units = text.units;
    bool open = false;
    if (first >= 2 && units[first - 1].is_separator() &&
        bytes_of(text, first - 1) == bytes_of(text, first + 1) && is_lone_letter(text, first - 2, -1, open) &&
        units[first - 2].symbol != units[last].symbol) {
        return Outcome::no;
    }
    if (last + 2 >= units.size()) {
        return text.whole ? Outcome::yes : Outcome::undecided;
    }
    open = false;
    if (bytes_of(text, last + 1) == bytes_of(text, last - 1) && is_lone_letter(text, last + 2, 1, open) &&
        units[last + 2].symbol != units[first].symbol) {
        return open ? Outcome::undecided : Outcome::no;
    }
    return Outcome::yes;
}

} // namespace

Outcome begins_word(const TextView& text, std::size_t first) noexcept {
    auto i = first;
    while (i > 0 && text.units[i - 1].kind == UnitKind::digit) {
        --i;
    }
    const bool at_digit = text.units[first].kind == UnitKind::digit;
    if (i == 0 || text.units[i - 1].is_separator() || text.units[i - 1].kind == UnitKind::leet) {
        return at_digit && i < first ? Outcome::no : Outcome::yes;
    }
    return is_spaceless(text.units[first].letter) || is_spaceless(text.units[i - 1].letter) ? Outcome::yes
                                                                                            : Outcome::no;
}

Outcome ends_word(const TextView& text, std::size_t last) noexcept {
    auto i = last + 1;
    while (i < text.units.size() && text.units[i].kind == UnitKind::digit) {
        ++i;
    }
    if (is_hangul(text.units[last].letter)) {
        return Outcome::yes;
    }
    if (i == text.units.size()) {
        return text.whole ? Outcome::yes : Outcome::undecided;
    }
    const bool at_digit = text.units[last].kind == UnitKind::digit;
    if (text.units[i].is_separator() || text.units[i].kind == UnitKind::leet) {
        return at_digit && i > last + 1 ? Outcome::no : Outcome::yes;
    }
    return is_spaceless(text.units[last].letter) || is_spaceless(text.units[i].letter) ? Outcome::yes
                                                                                       : Outcome::no;
}

Outcome verify(const Phrase& phrase, const TextView& text, std::size_t first, std::size_t last) {
    const auto begins = phrase.begins_anywhere ? Outcome::yes : begins_word(text, first);
    const auto ends = phrase.ends_anywhere ? Outcome::yes : ends_word(text, last);
    if (begins == Outcome::no || ends == Outcome::no) {
        return Outcome::no;
    }
    const auto runs = runs_of(phrase.units);
    const auto place = letters_of_place(text, first, last);
    if (!Alignment(runs, place).matches() || !is_written(place, phrase)) {
        return Outcome::no;
    }
    const auto disguise = is_disguise(phrase, place, text, first, last);
    const auto spelling =
        is_spelled(phrase, text, first, last) ? is_whole_spelling(text, first, last) : Outcome::yes;
    if (disguise == Outcome::no || spelling == Outcome::no) {
        return Outcome::no;
    }
    const bool open =
        ends == Outcome::undecided || disguise == Outcome::undecided || spelling == Outcome::undecided;
    return open ? Outcome::undecided : Outcome::yes;
}

} // namespace sotto::guard
