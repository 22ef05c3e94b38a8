// Writes a regular expression as a GBNF grammar.
#include "grammar/regex.hpp"

#include <algorithm>
#include <cstdio>

#include "grammar/schema/schema_pattern.hpp"

namespace sotto::llama {
namespace {

using pattern::kForever;
using pattern::kMaxPatternTimes;
using pattern::Node;
using pattern::Range;

// Code points that a text may hold: neither surrogates nor control characters other than these three.
constexpr Range kText[] = {{'\t', '\n'}, {'\r', '\r'}, {0x20, 0x7E}, {0x80, 0xD7FF}, {0xE000, 0x10FFFF}};

std::string spelt(std::uint32_t character) {
    char text[16];
    std::snprintf(text, sizeof text, "\\U%08X", character);
    return text;
}

bool is_escaped_end(const std::string& regex) {
    const auto end = regex.find_last_not_of('\\', regex.size() - 2);
    const auto first = end == std::string::npos ? 0 : end + 1;
    return (regex.size() - 1 - first) % 2 == 1;
}

// The whole text has to match: adds the anchors that the ends lack.
std::string anchored(const std::string& regex) {
    const bool begins = regex.starts_with('^');
    const bool ends = regex.size() > (begins ? 1 : 0) && regex.ends_with('$') && !is_escaped_end(regex);
    if (begins && ends) {
        return regex;
    }
    const auto skipped = static_cast<std::size_t>(begins) + static_cast<std::size_t>(ends);
    return "^(?:" + regex.substr(begins ? 1 : 0, regex.size() - skipped) + ")$";
}

class GrammarWriter {
public:
    GrammarWriter(const std::string& regex, const std::string& path) : regex_(regex), path_(path) {}

    std::string text(const Node& node) const {
        switch (node.kind) {
        case Node::Kind::Set:
            return set(node.set);
        case Node::Kind::Sequence:
            return joined(node, " ");
        case Node::Kind::Choice:
            return "(" + joined(node, " | ") + ")";
        case Node::Kind::Repeat:
            break;
        }
        return "(" + text(node.parts[0]) + ")" + times(node);
    }

private:
    std::string joined(const Node& node, const char* separator) const {
        std::string all;
        for (const auto& part : node.parts) {
            const auto one = text(part);
            all += (&part == &node.parts.front() ? "" : separator) + (one.empty() ? R"("")" : one);
        }
        return all;
    }

    static std::string times(const Node& node) {
        if (node.most == kForever) {
            return node.least == 0 ? "*" : node.least == 1 ? "+" : "{" + std::to_string(node.least) + ",}";
        }
        const auto most = std::max(node.least, std::min(node.most, kMaxPatternTimes));
        return "{" + std::to_string(node.least) + "," + std::to_string(most) + "}";
    }

    std::string set(const pattern::Set& set) const {
        std::string all;
        for (const auto& usable : kText) {
            for (const auto& range : set) {
                const auto first = std::max(range.first, usable.first);
                const auto last = std::min(range.last, usable.last);
                if (first <= last) {
                    all += spelt(first) + (first == last ? "" : "-" + spelt(last));
                }
            }
        }
        if (all.empty()) {
            unsupported_schema(path_, regex_, "sets with at least one character that a text can hold");
        }
        return "[" + all + "]";
    }

    const std::string& regex_;
    const std::string& path_;
};

} // namespace

std::string regex_expression(const std::string& regex, const std::string& path) {
    static_cast<void>(pattern::read(regex, {}, path)); // errors show the expression as it was written
    const auto whole = pattern::read(anchored(regex), {}, path);
    return GrammarWriter(regex, path).text(whole);
}

std::string regex_grammar(const std::string& regex, const std::string& path) {
    return "root ::= " + regex_expression(regex, path) + "\n";
}

} // namespace sotto::llama
