#include "core/check/sentences.hpp"

#include <algorithm>

namespace sotto {
namespace {

constexpr std::string_view kSpaces = " \t\r\n\v\f";

std::string_view trimmed(std::string_view text) {
    const auto begin = text.find_first_not_of(kSpaces);
    return begin == text.npos ? std::string_view()
                              : text.substr(begin, text.find_last_not_of(kSpaces) + 1 - begin);
}

bool is_space(char c) noexcept {
    return kSpaces.find(c) != kSpaces.npos;
}

// Returns the size of a full stop of a script without spaces at the beginning of `text`, or 0.
std::size_t wide_stop(std::string_view text) noexcept {
    for (const std::string_view stop : {"\u3002", "\uFF01", "\uFF1F", "\uFF0E"}) {
        if (text.substr(0, stop.size()) == stop) {
            return stop.size();
        }
    }
    return 0;
}

// Returns the end of the sentence that begins `text`, after its punctuation.
std::size_t sentence_end(std::string_view text) noexcept {
    constexpr std::string_view kStops = ".!?";
    constexpr std::string_view kEllipsis = "\u2026";
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto rest = text.substr(i);
        if (text[i] == '\n') {
            return i + 1;
        }
        if (const auto size = wide_stop(rest); size != 0) {
            return i + size;
        }
        const auto stop = kStops.find(text[i]) != kStops.npos             ? std::size_t{1}
                          : rest.substr(0, kEllipsis.size()) == kEllipsis ? kEllipsis.size()
                                                                          : std::size_t{0};
        if (stop != 0 && (rest.size() == stop || is_space(rest[stop]))) {
            return i + stop;
        }
    }
    return text.size();
}

// Returns where to cut a sentence that is longer than a passage.
std::size_t cut(std::string_view text) noexcept {
    const auto space = text.find_last_of(kSpaces, kMaxPassage);
    if (space != text.npos && space != 0) {
        return space;
    }
    auto end = kMaxPassage;
    while (end > 1 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
        --end;
    }
    return end;
}

} // namespace

std::vector<std::string_view> passages_of(std::string_view text) {
    std::vector<std::string_view> passages;
    const auto whole = trimmed(text);
    for (auto rest = whole; !rest.empty();) {
        auto end = sentence_end(rest.substr(0, kMaxPassage + 1));
        end = end > kMaxPassage ? cut(rest) : end;
        if (const auto passage = trimmed(rest.substr(0, end)); !passage.empty()) {
            passages.push_back(passage);
        }
        rest.remove_prefix(end);
    }
    if (passages.size() > 1 && whole.size() <= kMaxPassage) {
        passages.push_back(whole);
    }
    return passages;
}

} // namespace sotto
