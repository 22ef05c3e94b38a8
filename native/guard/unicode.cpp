#include "guard/unicode.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace sotto::guard {
namespace {

struct CodeRun {
    std::uint32_t first, last, target;
};
struct CodePair {
    std::uint32_t from, to;
};
struct CodeRange {
    std::uint32_t first, last;
};

#include "guard/unicode.g.inc"

// Returns the entry of a sorted table whose range contains `code`, or null.
template <typename Entry, std::size_t Size>
const Entry* find(const Entry (&table)[Size], std::uint32_t code) noexcept {
    const auto* after =
        std::upper_bound(std::begin(table), std::end(table), code, [](std::uint32_t c, const Entry& e) {
            return c < e.first;
        });
    const auto* found = after != std::begin(table) ? std::prev(after) : nullptr;
    return found != nullptr && code <= found->last ? found : nullptr;
}

template <std::size_t Size>
char32_t mapped(const CodeRun (&table)[Size], char32_t code, char32_t otherwise) noexcept {
    const auto* run = find(table, code);
    return run != nullptr ? run->target + (code - run->first) : otherwise;
}

struct FromLess {
    bool operator()(const CodePair& pair, char32_t code) const noexcept { return pair.from < code; }
    bool operator()(char32_t code, const CodePair& pair) const noexcept { return code < pair.from; }
};

} // namespace

CharClass class_of(char32_t c) noexcept {
    if (find(kSkipped, c) != nullptr) {
        return CharClass::skipped;
    }
    if (find(kWord, c) != nullptr || lookalike_of(c) != 0) {
        return CharClass::letter;
    }
    return find(kJoiningSymbols, c) != nullptr ? CharClass::joiner : CharClass::gap;
}

Letters letters_of(char32_t c) noexcept {
    Letters letters{};
    const auto [first, last] = std::equal_range(std::begin(kSequences), std::end(kSequences), c, FromLess{});
    for (const auto* pair = first; pair != last && letters.count < Letters::kMax; ++pair) {
        letters.at[letters.count++] = pair->to;
    }
    if (letters.count == 0) {
        letters.at[letters.count++] = mapped(kLetters, c, c);
    }
    return letters;
}

char32_t symbol_of(char32_t letter) noexcept {
    constexpr std::string_view kDigits = "oizeasgtbg";
    if (letter >= '0' && letter <= '9') {
        return static_cast<char32_t>(kDigits[letter - '0']);
    }
    if (letter < 0x80) {
        return letter == 'l' ? U'i' : letter;
    }
    return mapped(kSymbols, letter, letter);
}

char32_t capital_symbol_of(char32_t capital) noexcept {
    return capital < 0x80 ? 0 : mapped(kRawSymbols, capital, 0);
}

char32_t symbol_of_capital_of(char32_t letter) noexcept {
    for (const auto& run : kRawSymbols) {
        if (letter >= 0x80 && mapped(kLetters, run.first, run.first) == letter) {
            return run.target;
        }
    }
    return 0;
}

char32_t lookalike_of(char32_t symbol) noexcept {
    const auto* pair = std::lower_bound(std::begin(kLookalikes), std::end(kLookalikes), symbol, FromLess{});
    return pair != std::end(kLookalikes) && pair->from == symbol ? pair->to : 0;
}

bool is_hangul(char32_t letter) noexcept {
    return (letter >= 0xAC00 && letter <= 0xD7A3) || (letter >= 0x1100 && letter <= 0x11FF) ||
           (letter >= 0x3130 && letter <= 0x318F);
}

bool is_spaceless(char32_t letter) noexcept {
    static constexpr CodeRange kRanges[] = {
        {0x0E00, 0x0FFF}, // Thai, Lao, Tibetan
        {0x1000, 0x109F}, // Myanmar
        {0x1780, 0x17FF}, // Khmer
        {0x2E80, 0x2FDF}, // radicals
        {0x3005, 0x3007},
        {0x3040, 0x312F},
        {0x31A0, 0x31FF},
        {0x3400, 0x4DBF},
        {0x4E00, 0x9FFF},
        {0xF900, 0xFAFF},
        {0x20000, 0x3FFFF},
    };
    return letter >= 0x0E00 && find(kRanges, letter) != nullptr;
}

char32_t next_character(std::string_view text, std::size_t& position) noexcept {
    const auto byte = [&](std::size_t i) -> char32_t {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0x80;
    };
    const auto lead = byte(position);
    const unsigned extra = lead < 0x80 ? 0 : lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
    char32_t c = lead & (0x7FU >> (extra == 0 ? 0 : extra + 1));
    for (unsigned i = 1; i <= extra; ++i) {
        c = c << 6 | (byte(position + i) & 0x3F);
    }
    position = std::min(position + extra + 1, text.size());
    return c;
}

} // namespace sotto::guard
