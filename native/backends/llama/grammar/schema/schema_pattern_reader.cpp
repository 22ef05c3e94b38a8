// Parses regular expressions of JSON Schema (ECMAScript syntax).
#include "grammar/schema/schema_pattern.hpp"

#include <algorithm>

#include <unicode.h>

namespace sotto::llama::pattern {
namespace {

constexpr int kDeepestGroup = 32;

Set sorted(Set set) {
    std::sort(set.begin(), set.end(), [](Range a, Range b) { return a.first < b.first; });
    return set;
}

Set all_but(const Set& set) {
    Set rest;
    std::uint32_t from = 0;
    for (const auto& range : sorted(set)) {
        if (from < range.first) {
            rest.push_back({from, range.first - 1});
        }
        from = std::max(from, range.last + 1);
    }
    if (from <= 0x10FFFF) {
        rest.push_back({from, 0x10FFFF});
    }
    return rest;
}

// Returns the ASCII characters that are not in `set`, for negated classes. Regex engines disagree on whether
// "\w" contains letters beyond ASCII, so only characters that are outside of the class in every engine are
// used.
Set ascii_but(Set set) {
    set.push_back({0x80, 0x10FFFF});
    return all_but(set);
}

const Set kDigits = {{'0', '9'}};
const Set kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Set kSpace = {{'\t', '\r'}, {' ', ' '}};
const Set kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};

std::uint64_t times(std::uint64_t count, std::uint64_t length) {
    return count == 0 || length == 0 ? 0 : count > kForever / length ? kForever : count * length;
}

// Parses one pattern.
class Reader {
public:
    Reader(const std::string& pattern, const std::string& path) : pattern_(pattern), path_(path) {
        for (std::size_t at = 0; at < pattern.size();) {
            const auto read = common_parse_utf8_codepoint(pattern, at);
            text_.push_back(read.status == utf8_parse_result::SUCCESS ? read.codepoint : 0xFFFD);
            at += std::max<std::size_t>(read.bytes_consumed, 1);
        }
    }

    // Parses the whole pattern. At an end without an anchor (^ or $), adds a part that matches any text
    // without line ends. If `length` limits the string and both anchors are missing, adds that part at the
    // end only.
    Node read(const Length& length) {
        Node whole{.kind = Node::Kind::Choice};
        do {
            const bool from_start = take('^');
            auto branch = sequence(0);
            const bool to_end = take('$');
            if (at_ < text_.size() && text_[at_] == ')') {
                wrong("an unopened \")\"");
            }
            if (at_ < text_.size() && text_[at_] != '|') {
                beyond("an anchor inside");
            }
            whole.parts.push_back(tied(std::move(branch), from_start, to_end, length));
        } while (take('|'));
        return whole;
    }

private:
    [[noreturn]] void wrong(const std::string& what) const {
        refuse_schema(path_, pattern_, "a regular expression without " + what + column());
    }

    [[noreturn]] void beyond(const std::string& what) const {
        unsupported_schema(
            path_,
            pattern_,
            "a pattern without " + what + column() + "; use characters, sets, groups, \"|\" and repetitions"
        );
    }

    std::string column() const { return " (before character " + std::to_string(at_ + 1) + ")"; }

    static Node any(std::uint64_t least, std::uint64_t most) {
        return {
            Node::Kind::Repeat, {}, {Node{.kind = Node::Kind::Set, .set = all_but(kLineEnds)}}, least, most
        };
    }

    static Node tied(Node branch, bool from_start, bool to_end, const Length& length) {
        if (from_start && to_end) {
            return branch;
        }
        const auto own = length_of(branch);
        const bool limited = length.least > 0 || length.most != kForever;
        Node whole{.kind = Node::Kind::Sequence};
        if (!from_start && (!limited || to_end)) {
            whole.parts.push_back(filler(own, length));
        }
        whole.parts.push_back(std::move(branch));
        if (!to_end) {
            whole.parts.push_back(filler(own, length));
        }
        return whole;
    }

    static Node filler(const Length& own, const Length& length) {
        const auto least = length.least > own.least ? length.least - own.least : 0;
        const bool endless = length.most == kForever || own.most == kForever;
        return any(least, endless ? kForever : length.most > own.most ? length.most - own.most : 0);
    }

    bool take(char sign) {
        const bool found = at_ < text_.size() && text_[at_] == static_cast<std::uint32_t>(sign);
        at_ += found ? 1 : 0;
        return found;
    }

    Node sequence(int depth) {
        Node found{.kind = Node::Kind::Sequence};
        while (at_ < text_.size()) {
            const auto sign = text_[at_];
            if (sign == '|' || sign == ')' || sign == '^' || sign == '$') {
                break;
            }
            found.parts.push_back(repeated(one(depth)));
        }
        return found;
    }

    Node choice(int depth) {
        if (depth > kDeepestGroup) {
            unsupported_schema(
                path_, "groups nested deeper than " + std::to_string(kDeepestGroup) + " levels; flatten them"
            );
        }
        Node found{.kind = Node::Kind::Choice};
        do {
            found.parts.push_back(sequence(depth));
            if (at_ < text_.size() && (text_[at_] == '^' || text_[at_] == '$')) {
                beyond("an anchor inside");
            }
        } while (take('|'));
        return found;
    }

    Node one(int depth) {
        if (take('(')) {
            if (take('?') && !take(':')) {
                beyond("\"(?\"");
            }
            auto group = choice(depth + 1);
            if (!take(')')) {
                wrong("an unclosed \"(\"");
            }
            return group;
        }
        if (take('[')) {
            return {.kind = Node::Kind::Set, .set = set()};
        }
        if (take('.')) {
            return {.kind = Node::Kind::Set, .set = all_but(kLineEnds)};
        }
        if (take('\\')) {
            return {.kind = Node::Kind::Set, .set = escape(false)};
        }
        const auto sign = text_[at_++];
        if (sign == '*' || sign == '+' || sign == '?' || sign == '{') {
            wrong(std::string("a \"") + static_cast<char>(sign) + "\" that has nothing to repeat");
        }
        return {.kind = Node::Kind::Set, .set = {{sign, sign}}};
    }

    Node repeated(Node node) {
        std::uint64_t least = 1;
        std::uint64_t most = 1;
        if (take('*')) {
            least = 0;
            most = kForever;
        } else if (take('+')) {
            most = kForever;
        } else if (take('?')) {
            least = 0;
        } else if (take('{')) {
            least = number();
            most = !take(',') ? least : at_ < text_.size() && text_[at_] == '}' ? kForever : number();
            if (!take('}')) {
                wrong("an incomplete repetition \"{\"");
            }
            if (most < least) {
                wrong("a repetition whose end is below its start");
            }
        } else {
            return node;
        }
        take('?'); // a lazy quantifier affects which text matches first, not whether one does
        if (at_ < text_.size() &&
            (text_[at_] == '*' || text_[at_] == '+' || text_[at_] == '?' || text_[at_] == '{')) {
            wrong("two repetitions in a row");
        }
        if (least > kMaxPatternTimes) {
            unsupported_schema(
                path_, pattern_, "at most " + std::to_string(kMaxPatternTimes) + " repetitions of one part"
            );
        }
        return {Node::Kind::Repeat, {}, {std::move(node)}, least, most};
    }

    std::uint64_t number() {
        std::uint64_t value = 0;
        const auto from = at_;
        while (at_ < text_.size() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - from < 9) {
            value = value * 10 + text_[at_++] - '0';
        }
        if (at_ == from) {
            wrong("an incomplete repetition \"{\"");
        }
        return value;
    }

    Set set() {
        const bool inverse = take('^');
        by_class_ = false;
        Set found;
        while (!take(']')) {
            const auto first = member();
            if (first.size() == 1 && first[0].first == first[0].last && at_ + 1 < text_.size() &&
                text_[at_] == '-' && text_[at_ + 1] != ']') {
                ++at_;
                const auto last = member();
                if (last.size() != 1 || last[0].first < first[0].first) {
                    wrong("a range whose end is below its start");
                }
                found.push_back({first[0].first, last[0].last});
            } else {
                found.insert(found.end(), first.begin(), first.end());
            }
        }
        return !inverse ? found : by_class_ ? ascii_but(found) : all_but(found);
    }

    Set member() {
        if (at_ >= text_.size()) {
            wrong("an unclosed \"[\"");
        }
        if (take('\\')) {
            return escape(true);
        }
        const auto sign = text_[at_++];
        return {{sign, sign}};
    }

    Set escape(bool in_set) {
        if (at_ >= text_.size()) {
            wrong("a \"\\\" at its end");
        }
        const auto sign = text_[at_++];
        switch (sign) {
        case 'd':
        case 'w':
        case 's':
            by_class_ = true;
            return sign == 'd' ? kDigits : sign == 'w' ? kWord : kSpace;
        case 'D':
        case 'W':
        case 'S':
            by_class_ = true;
            return ascii_but(sign == 'D' ? kDigits : sign == 'W' ? kWord : kSpace);
        case 'n':
            return {{'\n', '\n'}};
        case 'r':
            return {{'\r', '\r'}};
        case 't':
            return {{'\t', '\t'}};
        case 'f':
            return {{'\f', '\f'}};
        case 'v':
            return {{'\v', '\v'}};
        case 'x':
            return hex(2);
        case 'u':
            return hex(4);
        case 'b':
            if (in_set) {
                return {{'\b', '\b'}};
            }
            break;
        default:
            break;
        }
        const bool letter =
            (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z') || (sign >= '0' && sign <= '9');
        if (letter) {
            beyond("\"\\" + std::string(1, static_cast<char>(sign)) + "\"");
        }
        return {{sign, sign}};
    }

    Set hex(int digits) {
        std::uint32_t value = 0;
        for (int i = 0; i < digits; ++i) {
            const auto sign = at_ < text_.size() ? text_[at_++] : 0;
            const auto digit = sign >= '0' && sign <= '9'   ? sign - '0'
                               : sign >= 'a' && sign <= 'f' ? sign - 'a' + 10
                               : sign >= 'A' && sign <= 'F' ? sign - 'A' + 10
                                                            : 16;
            if (digit == 16) {
                wrong("an escape without its hexadecimal digits");
            }
            value = value * 16 + digit;
        }
        return {{value, value}};
    }

    const std::string& pattern_;
    const std::string& path_;
    std::vector<std::uint32_t> text_;
    std::size_t at_ = 0;
    bool by_class_ = false; // the current class contains "\d" or a similar class
};

} // namespace

Length length_of(const Node& node) {
    Length whole{0, 0};
    switch (node.kind) {
    case Node::Kind::Set:
        return {1, 1};
    case Node::Kind::Repeat: {
        const auto one = length_of(node.parts[0]);
        return {times(node.least, one.least), times(node.most, one.most)};
    }
    case Node::Kind::Sequence:
        for (const auto& part : node.parts) {
            const auto one = length_of(part);
            whole.least += one.least;
            whole.most = whole.most > kForever - one.most ? kForever : whole.most + one.most;
        }
        return whole;
    case Node::Kind::Choice:
        whole.least = kForever;
        for (const auto& part : node.parts) {
            const auto one = length_of(part);
            whole.least = std::min(whole.least, one.least);
            whole.most = std::max(whole.most, one.most);
        }
    }
    return whole;
}

Node read(const std::string& text, const Length& length, const std::string& path) {
    return Reader(text, path).read(length);
}

} // namespace sotto::llama::pattern
