#include "grammar/lark_text.hpp"

#include "grammar/regex.hpp"
#include "runtime/fence.hpp"
#include "json/utf8_cut.hpp"

#include <algorithm>
#include <cstdio>

namespace sotto::llama {
namespace {

bool is_name_letter(char byte) noexcept {
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

bool is_name_digit(char byte) noexcept {
    return byte >= '0' && byte <= '9';
}

bool is_ascii_byte(char byte) noexcept {
    return static_cast<unsigned char>(byte) < 0x80;
}

void append_escaped(std::string& text, std::uint32_t code) {
    const auto rest = [code](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += {static_cast<char>(0xC0 | code >> 6), rest(0)};
    } else if (code < 0x10000) {
        text += {static_cast<char>(0xE0 | code >> 12), rest(6), rest(0)};
    } else {
        text += {static_cast<char>(0xF0 | code >> 18), rest(12), rest(6), rest(0)};
    }
}

// Returns a byte as it stands in a string or a class of GBNF. Bytes of longer characters stand for
// themselves.
std::string in_gbnf(char byte) {
    if (is_name_letter(byte) || is_name_digit(byte) || byte == ' ' || !is_ascii_byte(byte)) {
        return {byte};
    }
    char text[8];
    std::snprintf(text, sizeof text, "\\x%02X", static_cast<unsigned>(byte));
    return text;
}

} // namespace

bool LarkText::sees_name() const noexcept {
    return !done() && (is_name_letter(text_[at_]) || text_[at_] == '_');
}

bool LarkText::take(std::string_view what) noexcept {
    const bool found = sees(what);
    at_ += found ? what.size() : 0;
    return found;
}

void LarkText::expect(std::string_view what) {
    if (!take(what)) {
        refuse(at_, "expected '" + std::string(what) + "', not " + shown());
    }
}

void LarkText::skip_space(bool lines) noexcept {
    while (!done()) {
        const char byte = text_[at_];
        if (sees("//") || byte == '#') {
            at_ = std::min(text_.find('\n', at_), text_.size());
        } else if (byte == ' ' || byte == '\t' || byte == '\r' || (lines && byte == '\n')) {
            ++at_;
        } else {
            return;
        }
    }
}

void LarkText::skip_to_alternative() noexcept {
    const auto before = at_;
    skip_space(true);
    if (!sees("|")) {
        at_ = before;
    }
}

std::string LarkText::name() {
    if (!sees_name()) {
        refuse(at_, "expected a name, not " + shown());
    }
    const auto from = at_;
    while (!done() && (is_name_letter(text_[at_]) || is_name_digit(text_[at_]) || text_[at_] == '_')) {
        ++at_;
    }
    return text_.substr(from, at_ - from);
}

std::uint32_t LarkText::number() {
    constexpr std::size_t kMaxDigits = 6;
    const auto from = at_;
    while (!done() && is_name_digit(text_[at_])) {
        ++at_;
    }
    if (at_ == from || at_ - from > kMaxDigits) {
        refuse(from, "expected a number of at most 6 digits");
    }
    return static_cast<std::uint32_t>(std::stoul(text_.substr(from, at_ - from)));
}

// Returns the value of an escape after its backslash.
std::uint32_t LarkText::escaped() {
    constexpr std::string_view kShort = "n\nt\tr\r\"\"''\\\\//";
    const auto from = at_ - 1;
    for (std::size_t i = 0; i < kShort.size(); i += 2) {
        if (take(kShort.substr(i, 1))) {
            return static_cast<unsigned char>(kShort[i + 1]);
        }
    }
    const std::size_t digits = sees("x") ? 2 : sees("u") ? 4 : sees("U") ? 8 : 0;
    ++at_;
    const auto hex = text_.substr(std::min(at_, text_.size()), digits);
    const bool valid = digits > 0 && hex.size() == digits &&
                       hex.find_first_not_of("0123456789abcdefABCDEF") == std::string::npos;
    const auto code = valid ? static_cast<std::uint32_t>(std::stoul(hex, nullptr, 16)) : 0;
    if (!valid || code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) {
        refuse(from, R"(unknown escape in a string; use \n, \t, \r, \", \\, \xHH, \uHHHH or \UHHHHHHHH)");
    }
    at_ += digits;
    return code;
}

// Returns the characters of a string in quotes. `any_case`: set if the flag `i` follows.
std::string LarkText::quoted(bool& any_case) {
    const auto from = at_;
    expect("\"");
    std::string found;
    while (!done() && text_[at_] != '"' && text_[at_] != '\n') {
        if (take("\\")) {
            append_escaped(found, escaped());
        } else {
            found += text_[at_++];
        }
    }
    if (!take("\"")) {
        refuse(from, "the string does not end on its line");
    }
    const auto is_control = [](char byte) {
        return is_ascii_byte(byte) && byte < ' ' && byte != '\n' && byte != '\t' && byte != '\r';
    };
    if (std::ranges::any_of(found, is_control)) {
        refuse(from, "a control character in a string, which no answer has");
    }
    any_case = take("i");
    if (any_case && !std::ranges::all_of(found, is_ascii_byte)) {
        refuse(from, "flag i on characters beyond ASCII; write both cases");
    }
    if (sees_name()) {
        refuse(at_, "unknown flag of a string; only i is supported");
    }
    return found;
}

std::string LarkText::string() {
    bool any_case = false;
    const auto characters = quoted(any_case);
    std::string gbnf;
    for (const char byte : characters) {
        if (any_case && is_name_letter(byte)) {
            gbnf += {
                '"', ' ', '[', static_cast<char>(byte & ~0x20), static_cast<char>(byte | 0x20), ']', ' ', '"'
            };
        } else {
            gbnf += in_gbnf(byte);
        }
    }
    return "\"" + gbnf + "\"";
}

std::string LarkText::character() {
    const auto from = at_;
    bool any_case = false;
    const auto text = quoted(any_case);
    const auto is_lead = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
    if (any_case || std::ranges::count_if(text, is_lead) != 1) {
        refuse(from, "a range needs one character at each end, without a flag");
    }
    std::string gbnf;
    for (const char byte : text) {
        gbnf += in_gbnf(byte);
    }
    return gbnf;
}

std::string LarkText::expression() {
    const auto from = at_;
    expect("/");
    bool in_set = false;
    std::string regex;
    while (!done() && text_[at_] != '\n' && (in_set || text_[at_] != '/')) {
        in_set = text_[at_] == '[' || (in_set && text_[at_] != ']');
        if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
            regex += text_[at_++];
        }
        regex += text_[at_++];
    }
    if (!take("/")) {
        refuse(from, "the regular expression does not end on its line");
    }
    if (sees_name()) {
        refuse(
            at_,
            "flag '" + text_.substr(at_, 1) + "' of a regular expression; write sets such as [aA] instead"
        );
    }
    try {
        return "(" + regex_expression(regex, "expression") + ")";
    } catch (const Error& error) {
        refuse(from, error.what());
    }
}

void LarkText::refuse(std::size_t at, const std::string& why) const {
    const auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at), '\n');
    const auto before = at == 0 ? std::string::npos : text_.rfind('\n', at - 1);
    const auto begin = before == std::string::npos ? 0 : before + 1;
    const auto is_lead = [](char byte) { return (static_cast<unsigned char>(byte) & 0xC0) != 0x80; };
    const auto column = 1 + std::count_if(
                                text_.begin() + static_cast<std::ptrdiff_t>(begin),
                                text_.begin() + static_cast<std::ptrdiff_t>(at),
                                is_lead
                            );
    throw Error(
        SOTTO_ERROR_ARGUMENT,
        "invalid " + path_ + ": line " + std::to_string(line) + ", column " + std::to_string(column) + ": " +
            why
    );
}

std::string LarkText::shown() const {
    constexpr std::size_t kMaxShown = 24;
    const auto rest = text_.substr(at_, text_.find('\n', at_) - at_);
    return rest.empty() ? "the end of the line" : "'" + std::string(utf8_cut(rest, kMaxShown)) + "'";
}

} // namespace sotto::llama
