// Sanitizes text for error messages and log lines.
#include "runtime/one_line.hpp"

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxBytes = 1000;

bool continues(std::string_view text, std::size_t from, std::size_t count) {
    for (std::size_t i = from; i < from + count; ++i) {
        if (i >= text.size() || (static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) {
            return false;
        }
    }
    return true;
}

// Returns the length in bytes of the UTF-8 character at `at`, or 0 if the bytes there are ill-formed.
std::size_t character(std::string_view text, std::size_t at) {
    const auto first = static_cast<unsigned char>(text[at]);
    const auto second = at + 1 < text.size() ? static_cast<unsigned char>(text[at + 1]) : 0u;
    if (first < 0x80) {
        return 1;
    }
    if (first >= 0xC2 && first <= 0xDF && continues(text, at + 1, 1)) {
        return 2;
    }
    const bool overlong3 = first == 0xE0 && second < 0xA0;
    const bool surrogate = first == 0xED && second > 0x9F;
    if ((first & 0xF0) == 0xE0 && !overlong3 && !surrogate && continues(text, at + 1, 2)) {
        return 3;
    }
    const bool overlong4 = first == 0xF0 && second < 0x90;
    const bool beyond = first > 0xF4 || (first == 0xF4 && second > 0x8F);
    if ((first & 0xF8) == 0xF0 && !overlong4 && !beyond && continues(text, at + 1, 3)) {
        return 4;
    }
    return 0;
}

} // namespace

std::string one_line(std::string_view text) {
    std::string line;
    for (std::size_t at = 0; at < text.size() && line.size() < kMaxBytes;) {
        const auto bytes = character(text, at);
        if (bytes == 0) {
            line += '?';
        } else if (bytes == 1 && (static_cast<unsigned char>(text[at]) < 0x20 || text[at] == 0x7F)) {
            line += ' ';
        } else {
            line += text.substr(at, bytes);
        }
        at += bytes == 0 ? 1 : bytes;
    }
    return line;
}

} // namespace sotto::llama
