// Splits text so that regular expressions cannot overflow the stack.
#include "token/long_runs.hpp"

namespace sotto::llama {
namespace {

constexpr std::size_t kLongestRun = 2048;  // characters
constexpr std::size_t kPiece = 256 * 1024; // bytes; tokenizing them takes about 0.1 s

enum class Kind { Space, Digit, Letter, Mark, Foreign };

// Returns the kind of the character at `at`. Kinds are coarse: a run of one kind may be longer than a regex
// match, never shorter.
Kind kind_of(std::string_view text, std::size_t at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x80) { // Foreign, except the CJK punctuation U+3000 to U+303F
        const bool mark =
            byte == 0xE3 && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) == 0x80;
        return mark ? Kind::Mark : Kind::Foreign;
    }
    if (byte <= ' ') {
        return Kind::Space;
    }
    if (byte >= '0' && byte <= '9') {
        return Kind::Digit;
    }
    const auto lower = byte | 0x20;
    return lower >= 'a' && lower <= 'z' ? Kind::Letter : Kind::Mark;
}

bool begins_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

// Returns true if one regex match may contain both kinds: letters of all scripts are alike.
bool alike(Kind a, Kind b) {
    const auto letter = [](Kind kind) { return kind == Kind::Letter || kind == Kind::Foreign; };
    return a == b || (letter(a) && letter(b));
}

// Returns true if the space at `at` is between two words of ASCII letters: regular expressions end a match
// there.
bool parts_words(std::string_view text, std::size_t at) {
    return text[at] == ' ' && at > 0 && kind_of(text, at - 1) == Kind::Letter && at + 1 < text.size() &&
           kind_of(text, at + 1) == Kind::Letter;
}

} // namespace

std::size_t safe_length(std::string_view text) {
    std::size_t run = 0;
    auto kind = Kind::Space;
    for (std::size_t at = 0; at < text.size(); ++at) {
        if (!begins_character(text[at])) {
            continue;
        }
        if (at >= kPiece && parts_words(text, at)) {
            return at;
        }
        const auto now = kind_of(text, at);
        run = alike(now, kind) ? run + 1 : 1;
        kind = now;
        if (run > kLongestRun) {
            return at;
        }
    }
    return text.size();
}

} // namespace sotto::llama
