#include "guard/escapes.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include "guard/symbols.hpp"

namespace sotto::guard {
namespace {

// Returns the value of the four hexadecimal digits at `text[at]`, or nothing.
std::optional<char32_t> hex(std::string_view text, std::size_t at) noexcept {
    char32_t value = 0;
    for (std::size_t i = at; i < at + 4; ++i) {
        if (i >= text.size()) {
            return std::nullopt;
        }
        const auto c = static_cast<unsigned char>(text[i]);
        const auto lower = static_cast<unsigned char>(c | 0x20);
        const bool digit = c >= '0' && c <= '9';
        if (!digit && (lower < 'a' || lower > 'f')) {
            return std::nullopt;
        }
        value = value << 4 | static_cast<char32_t>(digit ? c - '0' : lower - 'a' + 10);
    }
    return value;
}

bool is_high(char32_t unit) noexcept {
    return unit >= 0xD800 && unit < 0xDC00;
}

bool is_low(char32_t unit) noexcept {
    return unit >= 0xDC00 && unit < 0xE000;
}

// An escape at the beginning of a text.
struct Escape {
    std::size_t size = 0; // bytes; 0: the text begins with none
    char32_t character = 0;
};

constexpr std::size_t kWide = 6; // bytes of \uXXXX

// Reads \uXXXX, or two that are a surrogate pair. Half a pair stands for U+FFFD.
Escape wide_escape(std::string_view text) noexcept {
    const auto unit = hex(text, 2);
    if (!unit) {
        return {};
    }
    if (!is_high(*unit)) {
        return {kWide, is_low(*unit) ? 0xFFFD : *unit};
    }
    const auto next = text.substr(kWide, 2) == "\\u" ? hex(text, kWide + 2) : std::nullopt;
    if (!next || !is_low(*next)) {
        return {kWide, 0xFFFD};
    }
    return {2 * kWide, 0x10000 + ((*unit - 0xD800) << 10) + (*next - 0xDC00)};
}

Escape escape_at(std::string_view text) noexcept {
    constexpr std::string_view kLetters = R"("\/bfnrt)";
    constexpr std::string_view kCharacters = "\"\\/\b\f\n\r\t";
    if (text.size() < 2 || text[0] != '\\') {
        return {};
    }
    if (text[1] == 'u') {
        return wide_escape(text);
    }
    const auto index = kLetters.find(text[1]);
    return index == kLetters.npos ? Escape{} : Escape{2, static_cast<unsigned char>(kCharacters[index])};
}

// Returns true if text that follows can change the escape at the beginning of `text`.
bool is_open(std::string_view text) noexcept {
    constexpr std::string_view kZero = R"(\u0000)";
    constexpr std::string_view kPair = R"(\uD800\uDC00)";
    if (text.size() < kWide) {
        const auto completed = std::string(text) + std::string(kZero.substr(text.size()));
        return escape_at(text).size == 0 && escape_at(completed).size != 0;
    }
    if (text.size() >= kPair.size()) {
        return false;
    }
    const auto completed = std::string(text) + std::string(kPair.substr(text.size()));
    return escape_at(completed).size == kPair.size();
}

// A text with its escapes replaced, and where each of them was.
class Unescaped {
public:
    // `whole`: no text follows. Otherwise leaves out an escape at the end that is not complete.
    Unescaped(std::string_view text, bool whole) : limit_(text.size()) {
        for (std::size_t i = 0; i < text.size();) {
            const auto rest = text.substr(i);
            const auto escape = escape_at(rest);
            if (rest[0] == '\\' && !whole && is_open(rest)) {
                limit_ = i;
                return;
            }
            if (escape.size != 0) {
                const auto begin = text_.size();
                append_symbol(text_, escape.character);
                places_.push_back({{i, i + escape.size}, {begin, text_.size()}});
                i += escape.size;
            } else {
                text_.push_back(text[i++]);
            }
        }
    }

    const std::string& text() const noexcept { return text_; }
    // Size of the original text without an incomplete escape.
    std::size_t limit() const noexcept { return limit_; }

    // Returns the place in text() of a place of the original text; of an escape, its beginning.
    std::size_t here(std::size_t original) const noexcept {
        const auto* place = last([&](const Place& one) { return one.before.begin <= original; });
        if (place == nullptr) {
            return original;
        }
        return original < place->before.end ? place->after.begin
                                            : original - place->before.end + place->after.end;
    }
    // Returns the beginning, in the original text, of the character that has the byte `at` of text().
    std::size_t begin_of(std::size_t at) const noexcept {
        const auto* place = last([&](const Place& one) { return one.after.begin <= at; });
        if (place == nullptr) {
            return at;
        }
        return at < place->after.end ? place->before.begin : at - place->after.end + place->before.end;
    }
    // Returns the end of that character.
    std::size_t end_of(std::size_t at) const noexcept {
        const auto* place = last([&](const Place& one) { return one.after.begin <= at; });
        return place != nullptr && at < place->after.end ? place->before.end : begin_of(at) + 1;
    }
    // Returns the escape of the original text that has the bytes before and after `at`, or null.
    const Finding* around(std::size_t at) const noexcept {
        const auto* place = last([&](const Place& one) { return one.before.begin < at; });
        return place != nullptr && at < place->before.end ? &place->before : nullptr;
    }

private:
    struct Place {
        Finding before; // in the original text
        Finding after;  // in text_
    };

    template <typename Holds>
    const Place* last(const Holds& holds) const noexcept {
        const auto end = std::partition_point(places_.begin(), places_.end(), holds);
        return end == places_.begin() ? nullptr : &*(end - 1);
    }

    std::string text_;
    std::size_t limit_;
    std::vector<Place> places_; // in order
};

// Removes what is found inside one escape, and extends other findings to whole escapes.
void keep_whole(std::vector<Finding>& findings, const Unescaped& plain) {
    std::erase_if(findings, [&](const Finding& found) {
        const auto* escape = plain.around(found.begin + 1);
        return escape != nullptr && found.begin >= escape->begin && found.end <= escape->end &&
               found.end - found.begin < escape->end - escape->begin;
    });
    for (auto& found : findings) { // `from` is never inside an escape
        const auto* first = plain.around(found.begin);
        const auto* last = plain.around(found.end);
        found.begin = first != nullptr ? first->begin : found.begin;
        found.end = last != nullptr ? last->end : found.end;
    }
}

} // namespace

Scan scan_escaped(const TextChecker& checker, std::string_view text, std::size_t from, bool whole) {
    auto scan = checker.scan(text, from, whole);
    if (text.find('\\') == text.npos) {
        return scan;
    }
    const Unescaped plain(text, whole);
    const auto hidden = checker.scan(plain.text(), plain.here(from), whole);
    keep_whole(scan.findings, plain);
    for (const auto& found : hidden.findings) {
        scan.findings.push_back({std::max(from, plain.begin_of(found.begin)), plain.end_of(found.end - 1)});
    }
    remove_overlaps(scan.findings);
    const auto open = hidden.open < plain.text().size() ? plain.begin_of(hidden.open) : plain.limit();
    scan.open = std::min(scan.open, open);
    if (const auto* escape = plain.around(scan.open)) {
        scan.open = escape->begin;
    }
    // What is found beyond the open place is found again when more text follows.
    for (auto found = scan.findings.rbegin(); found != scan.findings.rend(); ++found) {
        scan.open = found->end > scan.open ? std::min(scan.open, found->begin) : scan.open;
    }
    std::erase_if(scan.findings, [&](const Finding& found) { return found.end > scan.open; });
    return scan;
}

bool splits_escape(std::string_view text, std::size_t at) noexcept {
    const auto before = text.substr(0, at).find_last_not_of('\\');
    const auto run = before == text.npos ? at : at - before - 1;
    return run % 2 != 0;
}

std::string unescaped(std::string_view text) {
    return text.find('\\') == text.npos ? std::string(text) : Unescaped(text, true).text();
}

} // namespace sotto::guard
