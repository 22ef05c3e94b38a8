#include "guard/text_units.hpp"

#include <initializer_list>
#include <string_view>

#include "guard/unicode.hpp"

namespace sotto::guard {
namespace {

constexpr std::string_view kJoiners = "-_*~=^#\\`.+"; // do not separate words
constexpr std::string_view kInside = "!|(<"; // letters inside words; the first two, at their beginning too
constexpr std::string_view kInsideLetters = "iicc";

bool is_ascii_letter(char32_t c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_digit(char32_t c) noexcept {
    return c >= '0' && c <= '9';
}

char32_t leet_of(char32_t c) noexcept {
    return c == '@' ? U'a' : c == '$' ? U's' : c < 0x80 ? 0 : lookalike_of(c);
}

bool is_letter(char32_t c) noexcept {
    return c < 0x80 ? is_ascii_letter(c) || is_digit(c) || leet_of(c) != 0 : class_of(c) == CharClass::letter;
}

// Reads one text; see read_units().
class Reader {
public:
    Reader(std::string_view text, std::u32string_view own, std::vector<Unit>& units)
        : text_(text), own_(own), units_(units), first_(units.size()) {}

    void read() {
        while (next_ < text_.size()) {
            begin_ = next_;
            const auto c = next_character(text_, next_);
            c < 0x80 ? ascii(c) : other(c);
        }
    }

private:
    void ascii(char32_t c) {
        if (is_ascii_letter(c)) {
            const bool upper = c < 'a';
            const auto letter = upper ? c + 32 : c;
            add(UnitKind::letter, letter, symbol_of(letter), upper);
        } else if (is_digit(c)) {
            add(UnitKind::digit, c, symbol_of(c));
        } else if (const auto leet = leet_of(c); leet != 0) {
            add(UnitKind::leet, c, leet);
        } else if (const auto inside = kInside.find(static_cast<char>(c)); inside != kInside.npos) {
            may_be_letter(c) && before_letter()
                ? add(UnitKind::leet, c, static_cast<char32_t>(kInsideLetters[inside]))
                : separate(UnitKind::gap);
        } else if (c == '+' && after_letter() && !separates(c)) {
            add(UnitKind::leet, c, U't');
        } else if (c < 0x20 && (c < 9 || c > 13)) {
            skip();
        } else if (c == ' ' || c <= 13) {
            separate(UnitKind::blank);
        } else if (c == '\'') {
            separate(UnitKind::apostrophe);
        } else {
            const bool joins = kJoiners.find(static_cast<char>(c)) != kJoiners.npos;
            separate(joins && !(c == '.' && ends_sentence()) ? UnitKind::joiner : UnitKind::gap);
        }
    }

    void other(char32_t c) {
        switch (class_of(c)) {
        case CharClass::letter:
            return letters(c);
        case CharClass::skipped:
            return skip();
        case CharClass::joiner:
            return separate(UnitKind::joiner);
        case CharClass::gap:
            break;
        }
        const bool blank = c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x202F ||
                           c == 0x205F || c == 0x3000 || c == 0x2800;
        const bool apostrophe = c == 0x2019 || c == 0x2018 || c == 0x2BC;
        separate(blank ? UnitKind::blank : apostrophe ? UnitKind::apostrophe : UnitKind::gap);
    }

    void letters(char32_t c) {
        if (const auto leet = lookalike_of(c); leet != 0) {
            return add(UnitKind::leet, c, symbol_of(leet));
        }
        if (const auto own = own_letter(c); own != 0) {
            return add(UnitKind::letter, own, own);
        }
        const auto found = letters_of(c);
        for (std::size_t i = 0; i < found.count; ++i) {
            const auto letter = found.at[i];
            const auto capital = found.count == 1 ? capital_symbol_of(c) : 0;
            add(is_digit(letter) ? UnitKind::digit : UnitKind::letter,
                letter,
                capital != 0 ? capital : symbol_of(letter));
        }
    }

    // Returns the letter of its own that `c` is, in lower case, or 0. Covers the capitals of Latin, Greek and
    // Cyrillic, which precede the small letter by 32 or by 1.
    char32_t own_letter(char32_t c) const noexcept {
        for (const auto small : std::initializer_list<char32_t>{c, c + 32, c + 1, c + 80}) {
            if (own_.find(small) != own_.npos && letters_of(small).at[0] == letters_of(c).at[0]) {
                return small;
            }
        }
        return 0;
    }

    void add(UnitKind kind, char32_t letter, char32_t symbol, bool upper = false) {
        units_.push_back({at(begin_), at(next_), letter, symbol, kind, upper});
    }

    void separate(UnitKind kind) {
        if (units_.size() == first_ || !units_.back().is_separator()) {
            units_.push_back({at(begin_), at(next_), 0, 0, kind, false});
            return;
        }
        auto& last = units_.back();
        last.end = at(next_);
        if (kind == UnitKind::joiner && last.kind == UnitKind::blank) {
            last.kind = UnitKind::gap; // white space, then a dash
        } else if (last.kind != kind) {
            const bool blanks = kind == UnitKind::blank && last.kind == UnitKind::joiner;
            last.kind = blanks ? UnitKind::gap : kind == UnitKind::joiner ? last.kind : UnitKind::gap;
        } else if (kind == UnitKind::apostrophe) {
            last.kind = UnitKind::gap; // a quotation mark
        }
    }

    void skip() {
        if (units_.size() > first_) {
            units_.back().end = at(next_);
        }
    }

    bool after_letter() const noexcept { return units_.size() > first_ && !units_.back().is_separator(); }

    bool may_be_letter(char32_t c) const noexcept {
        return (after_letter() ? units_.back().symbol < 0x80 : c == '!' || c == '|') && !separates(c);
    }

    // Returns true if the symbol at begin_ stands between single letters, as in a|b|c.
    bool separates(char32_t c) const noexcept {
        const auto count = units_.size() - first_;
        if (count >= 2 && units_[units_.size() - 2].is_separator() &&
            text_[units_[units_.size() - 2].end - 1] == static_cast<char>(c)) {
            return true;
        }
        auto next = next_;
        if (next < text_.size()) {
            next_character(text_, next);
        }
        return after_letter() && next < text_.size() && text_[next] == static_cast<char>(c);
    }

    bool before_letter() const noexcept {
        auto next = next_;
        return next < text_.size() && is_letter(next_character(text_, next));
    }

    // A full stop without a space after it: a word in small letters before, a capital behind.
    bool ends_sentence() const noexcept {
        return after_letter() && !units_.back().upper && units_.size() > first_ + 1 &&
               !units_[units_.size() - 2].is_separator() && next_ < text_.size() && text_[next_] >= 'A' &&
               text_[next_] <= 'Z';
    }

    static std::uint32_t at(std::size_t position) noexcept { return static_cast<std::uint32_t>(position); }

    const std::string_view text_;
    const std::u32string_view own_;
    std::vector<Unit>& units_;
    const std::size_t first_; // index of the first unit of this text
    std::size_t begin_ = 0;
    std::size_t next_ = 0;
};

} // namespace

void read_units(std::string_view text, std::u32string_view own, std::vector<Unit>& units) {
    units.reserve(units.size() + text.size());
    Reader(text, own, units).read();
}

std::size_t decided_size(std::string_view text) noexcept {
    auto size = text.size();
    while (size > 0 && (kInside.find(text[size - 1]) != kInside.npos || text[size - 1] == '.')) {
        --size;
    }
    return size;
}

} // namespace sotto::guard
