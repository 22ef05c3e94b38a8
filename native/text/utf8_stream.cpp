#include "text/utf8_stream.hpp"

#include <cstddef>
#include <cstdint>

namespace sotto {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

struct Character {
    std::size_t length; // bytes consumed
    enum { whole, partial, broken } kind;
};

std::uint8_t byte_at(std::string_view text, std::size_t i) noexcept {
    return static_cast<std::uint8_t>(text[i]);
}

// Returns the sequence length that a lead byte announces, and the valid range of the second byte (Unicode
// table 3-7).
std::size_t promised(std::uint8_t lead, std::uint8_t& low, std::uint8_t& high) noexcept {
    low = 0x80;
    high = 0xBF;
    if (lead < 0x80) {
        return 1;
    }
    if (lead >= 0xC2 && lead <= 0xDF) {
        return 2;
    }
    if (lead >= 0xE0 && lead <= 0xEF) {
        low = lead == 0xE0 ? 0xA0 : 0x80;
        high = lead == 0xED ? 0x9F : 0xBF;
        return 3;
    }
    if (lead >= 0xF0 && lead <= 0xF4) {
        low = lead == 0xF0 ? 0x90 : 0x80;
        high = lead == 0xF4 ? 0x8F : 0xBF;
        return 4;
    }
    return 0;
}

Character first_character(std::string_view text) noexcept {
    std::uint8_t low = 0;
    std::uint8_t high = 0;
    const auto length = promised(byte_at(text, 0), low, high);
    if (length == 0) {
        return {1, Character::broken};
    }
    for (std::size_t i = 1; i < length; ++i) {
        if (i == text.size()) {
            return {i, Character::partial};
        }
        if (byte_at(text, i) < low || byte_at(text, i) > high) {
            return {i, Character::broken};
        }
        low = 0x80;
        high = 0xBF;
    }
    return {length, Character::whole};
}

} // namespace

void Utf8Stream::feed(std::string_view bytes, std::string& out) {
    held_ += bytes;
    std::string_view rest = held_;
    while (!rest.empty()) {
        const auto next = first_character(rest);
        if (next.kind == Character::partial) {
            break;
        }
        out += next.kind == Character::whole ? rest.substr(0, next.length) : kReplacement;
        rest.remove_prefix(next.length);
    }
    held_.erase(0, held_.size() - rest.size());
}

void Utf8Stream::finish(std::string& out) {
    if (!held_.empty()) {
        out += kReplacement;
        held_.clear();
    }
}

std::string well_formed_utf8(std::string_view text) {
    Utf8Stream stream;
    std::string out;
    stream.feed(text, out);
    stream.finish(out);
    return out;
}

bool is_utf8(std::string_view text) noexcept {
    while (!text.empty()) {
        const auto next = first_character(text);
        if (next.kind != Character::whole) {
            return false;
        }
        text.remove_prefix(next.length);
    }
    return true;
}

} // namespace sotto
