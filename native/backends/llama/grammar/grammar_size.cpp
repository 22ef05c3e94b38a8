// Predicts the size of a grammar after llama.cpp has expanded its repetitions.
#include "grammar/grammar_size.hpp"

#include "runtime/fence.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxBytes = 512 * 1024;
constexpr std::size_t kMaxRules = 20'000;
constexpr std::size_t kMaxElements = 400'000;
constexpr std::size_t kMaxNameBytes = 32 * 1024 * 1024;
// llama.cpp treats a larger maximum as unbounded, and refuses a larger minimum
constexpr std::size_t kMaxTimes = 2000;
constexpr int kDeepestNesting = 300;

bool is_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

// Counts the rules and elements of a grammar after expansion. Leaves syntax errors to the parser.
class Scanner {
public:
    Scanner(const std::string& text, const std::string& path) : text_(text), path_(path) {}

    void scan() {
        while (at_ < text_.size()) {
            step(text_[at_]);
            if (elements_ > kMaxElements || rules_ > kMaxRules || rules_ * longest_name_ > kMaxNameBytes) {
                refuse(
                    "the grammar is too large: repetitions expand to more than " + std::to_string(kMaxRules) +
                    " rules or " + std::to_string(kMaxElements) + " elements"
                );
            }
        }
    }

private:
    [[noreturn]] void refuse(const std::string& reason) const {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid " + path_ + ", line " + std::to_string(line_of(text_, at_)) + ": " + reason
        );
    }

    void step(char c) {
        if (c == '#') {
            at_ = std::min(text_.find_first_of("\r\n", at_), text_.size());
        } else if (c == '"') {
            item(quoted('"'));
        } else if (c == '[') {
            item(quoted(']'));
        } else if (c == '<' || c == '!') {
            at_ = std::min(text_.find('>', at_), text_.size() - 1) + 1;
            item(1);
        } else if (is_name(c)) {
            const auto from = at_;
            while (at_ < text_.size() && is_name(text_[at_])) {
                ++at_;
            }
            longest_name_ = std::max(longest_name_, at_ - from);
            item(1);
        } else if (c == '(') {
            if (++depth_ > kDeepestNesting) {
                refuse("groups are nested deeper than " + std::to_string(kDeepestNesting) + " levels");
            }
            ++at_;
        } else if (c == ')') {
            --depth_;
            ++rules_;
            ++at_;
            item(1);
        } else if (c == '*' || c == '+' || c == '?') {
            ++at_;
            repeat(c == '+' ? 1 : 0, c == '?' ? 1 : 0, c != '?');
        } else if (c == '{') {
            braces();
        } else {
            ++at_;
            item(c == '.' ? 1 : last_);
        }
    }

    // Skips a literal or character class. Returns an upper bound of its number of elements.
    std::size_t quoted(char end) {
        const auto from = ++at_;
        while (at_ < text_.size() && text_[at_] != end) {
            at_ += text_[at_] == '\\' ? 2 : 1;
        }
        at_ = std::min(at_, text_.size());
        const auto size = at_ - from;
        at_ = std::min(at_ + 1, text_.size());
        return std::max<std::size_t>(size, 1);
    }

    void item(std::size_t elements) {
        last_ = elements;
        elements_ += elements;
    }

    void braces() {
        ++at_;
        const auto min = number();
        auto max = min;
        bool endless = false;
        spaces();
        if (at_ < text_.size() && text_[at_] == ',') {
            ++at_;
            spaces();
            endless = at_ >= text_.size() || !is_digit(text_[at_]);
            max = endless ? min : number();
        }
        if (max < min) {
            refuse("a repetition ends below its start");
        }
        repeat(min, max - min, endless);
    }

    std::size_t number() {
        spaces();
        std::size_t value = 0;
        while (at_ < text_.size() && is_digit(text_[at_])) {
            value = value * 10 + static_cast<std::size_t>(text_[at_++] - '0');
            if (value > kMaxTimes) {
                refuse("a repetition of more than " + std::to_string(kMaxTimes) + " times");
            }
        }
        return value;
    }

    void spaces() {
        while (at_ < text_.size() &&
               (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) {
            ++at_;
        }
    }

    void repeat(std::size_t min, std::size_t optional, bool endless) {
        const auto made = optional + (endless ? 1 : 0);
        rules_ += made;
        elements_ += made * (last_ + 3) + (min > 1 ? (min - 1) * last_ : 0) + 1;
        last_ = min * last_ + 1;
    }

    const std::string& text_;
    const std::string& path_;
    std::size_t at_ = 0;
    std::size_t last_ = 1; // elements of the previous item
    std::size_t elements_ = 0;
    std::size_t rules_ = 0; // rules generated in addition to the written ones
    std::size_t longest_name_ = 1;
    int depth_ = 0;
};

} // namespace

std::size_t line_of(const std::string& text, std::size_t at) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(at, text.size()));
    return static_cast<std::size_t>(std::count(text.begin(), end, '\n')) + 1;
}

void check_grammar_size(const std::string& gbnf, const std::string& path) {
    if (gbnf.size() > kMaxBytes) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid " + path + " of " + std::to_string(gbnf.size()) + " bytes: expected at most " +
                std::to_string(kMaxBytes)
        );
    }
    if (gbnf.find('\0') != std::string::npos) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid " + path + ": expected text without NUL");
    }
    Scanner(gbnf, path).scan();
}

} // namespace sotto::llama
