// Translates regular expressions over a string's value into ones over its JSON encoding.
//
// llama.cpp converts a pattern literally and puts the result between quotes: a dot would also match a quote.
// So each character class is rewritten as the characters that JSON allows unescaped, and the escapes of the
// other characters; "\d" and similar classes are expanded.
#include "grammar/schema/schema_pattern.hpp"

#include <algorithm>
#include <cstdio>

namespace sotto::llama {
namespace {

using pattern::kForever;
using pattern::kMaxPatternTimes;
using pattern::Node;
using pattern::Range;
using pattern::Set;

bool holds(const Set& set, std::uint32_t character) {
    return std::any_of(set.begin(), set.end(), [&](Range range) {
        return range.first <= character && character <= range.last;
    });
}

// Writes a pattern in the dialect of llama.cpp's converter.
class PatternWriter {
public:
    PatternWriter(const std::string& pattern, const std::string& path) : pattern_(pattern), path_(path) {}

    std::string text(const Node& node) const {
        std::string all;
        switch (node.kind) {
        case Node::Kind::Set:
            return set(node.set);
        case Node::Kind::Sequence:
            for (const auto& part : node.parts) {
                all += text(part);
            }
            return all;
        case Node::Kind::Choice:
            for (const auto& part : node.parts) {
                all += (&part == &node.parts.front() ? "" : "|") + text(part);
            }
            return "(" + all + ")";
        case Node::Kind::Repeat:
            break;
        }
        const auto one = "(" + text(node.parts[0]) + ")";
        if (node.most == 0) {
            return "()";
        }
        if (node.most == kForever && node.least <= 1) {
            return one + (node.least == 0 ? "*" : "+");
        }
        const auto most = node.most == kForever
                              ? ""
                              : std::to_string(std::max(node.least, std::min(node.most, kMaxPatternTimes)));
        return one + "{" + std::to_string(node.least) + "," + most + "}";
    }

private:
    std::string set(const Set& set) const {
        std::string plain;
        for (const auto& usable :
             {Range{0x20, 0x21}, {0x23, 0x5B}, {0x5D, 0x7E}, {0x80, 0xD7FF}, {0xE000, 0x10FFFF}}) {
            for (const auto& range : set) {
                const auto first = std::max(range.first, usable.first);
                const auto last = std::min(range.last, usable.last);
                if (first <= last) {
                    plain += escaped(first) + (first == last ? "" : "-" + escaped(last));
                }
            }
        }
        std::string letters;
        for (const auto& [character, letter] :
             {std::pair{'"', "\\\""},
              {'\\', "\\\\"},
              {'\n', "n"},
              {'\r', "r"},
              {'\t', "t"},
              {'\f', "f"},
              {'\b', "b"}}) {
            if (holds(set, static_cast<unsigned char>(character))) {
                letters += letter;
            }
        }
        if (plain.empty() && letters.empty()) {
            unsupported_schema(path_, pattern_, "a pattern of characters that JSON can represent");
        }
        if (letters.empty()) {
            return "[" + plain + "]";
        }
        const auto spelt = "[\\\\][" + letters + "]";
        return plain.empty() ? spelt : "([" + plain + "]|" + spelt + ")";
    }

    static std::string escaped(std::uint32_t character) {
        char text[16];
        std::snprintf(text, sizeof text, "\\U%08X", character);
        return text;
    }

    const std::string& pattern_;
    const std::string& path_;
};

// Returns the repetition that is the whole pattern, as in "^[a-z]+$", if it repeats one character; otherwise
// nullptr.
Node* only_repeat(Node& node) {
    if (node.kind == Node::Kind::Repeat) {
        const auto one = pattern::length_of(node.parts[0]);
        return one.least == 1 && one.most == 1 ? &node : nullptr;
    }
    return node.kind != Node::Kind::Set && node.parts.size() == 1 ? only_repeat(node.parts[0]) : nullptr;
}

} // namespace

std::string json_pattern(const std::string& text, Length length, const std::string& path) {
    auto whole = pattern::read(text, length, path);
    if (auto* repeat = only_repeat(whole)) {
        repeat->least = std::max(repeat->least, length.least);
        repeat->most = std::min(repeat->most, length.most);
        if (repeat->least > repeat->most) {
            refuse_schema(path, text, "a pattern that matches strings of \"minLength\" to \"maxLength\"");
        }
    }
    const auto own = pattern::length_of(whole);
    if (own.least < length.least || own.most > length.most) {
        unsupported_schema(
            path,
            text,
            "a pattern that limits the length itself, as in \"^[a-z]{1,8}$\", beside \"minLength\" or "
            "\"maxLength\""
        );
    }
    return "^" + PatternWriter(text, path).text(whole) + "$";
}

} // namespace sotto::llama
