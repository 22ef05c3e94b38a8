#include "chat/jinja/syntax_error.hpp"

#include "runtime/one_line.hpp"

#include <algorithm>
#include <optional>

namespace sotto::llama {
namespace {

constexpr std::string_view kDots = "...";
constexpr std::size_t kBefore = 40; // bytes that llama.cpp shows before the position

std::string replaced(std::string_view text, std::string_view old, std::string_view by) {
    std::string made;
    for (auto at = text.find(old); at != text.npos; at = text.find(old)) {
        made.append(text.substr(0, at)).append(by);
        text.remove_prefix(at + old.size());
    }
    return made.append(text);
}

// An error has three lines: the message, "...excerpt of the source...", and a caret below the position.
// Returns the position, or nothing if the error has no excerpt or the source has the excerpt twice.
std::optional<std::size_t> position_of(std::string_view error, const std::string& source) {
    const auto caret = error.rfind('\n');
    const auto excerpt = caret == error.npos || caret == 0 ? error.npos : error.rfind('\n', caret - 1);
    if (excerpt == error.npos || !error.ends_with('^')) {
        return std::nullopt;
    }
    const auto shown = replaced(error.substr(excerpt + 1, caret - excerpt - 1), "\xE2\x86\xB5", "\n");
    const auto column = error.size() - caret - 2; // of the caret
    if (shown.size() < 2 * kDots.size() || column < kDots.size()) {
        return std::nullopt;
    }
    const auto text = shown.substr(kDots.size(), shown.size() - 2 * kDots.size());
    const auto before = column - kDots.size();
    const auto found = before < kBefore ? 0 : source.find(text);
    const bool twice =
        before >= kBefore && found != source.npos && source.find(text, found + 1) != source.npos;
    if (found == source.npos || twice) {
        return std::nullopt;
    }
    return found + before;
}

} // namespace

std::string describe_syntax_error(std::string_view error, std::string_view source) {
    const auto lines = replaced(source, "\r\n", "\n"); // as llama.cpp reads it
    const auto at = position_of(error, lines);
    if (!at) {
        return one_line(error);
    }
    const auto before = std::string_view(lines).substr(0, *at);
    const auto line = std::ranges::count(before, '\n') + 1;
    const auto column = before.size() - (before.rfind('\n') + 1) + 1; // npos + 1 is 0
    auto message = error.substr(0, error.find('\n'));
    for (const std::string_view tag : {"lexer: ", "parser: ", "Parser Error: "}) {
        message.remove_prefix(message.starts_with(tag) ? tag.size() : 0);
    }
    if (constexpr std::string_view kEnd = " (Got )"; message.ends_with(kEnd)) { // has no position of its own
        return one_line(message.substr(0, message.size() - kEnd.size())) + " before the end of the text";
    }
    return "line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + one_line(message);
}

} // namespace sotto::llama
