// Validates grammars that a host wrote, and limits their size and ambiguity.
//
// llama.cpp tracks every possible parse of the answer so far as a stack, and tests each token against each
// stack: an ambiguous grammar could take unbounded time. Its own check of left recursion takes exponential
// time on some grammars, and its parser writes errors to stderr; so grammars are checked here first.
#include "grammar/grammar.hpp"

#include "grammar/grammar_size.hpp"
#include "grammar/grammar_ways.hpp"
#include "json/utf8_cut.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include <llama-grammar.h>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxCalls = 2'000'000; // calls in llama.cpp's check of left recursion
constexpr std::size_t kDeepestCalls = 3000;

bool is_end(const llama_grammar_element& element) {
    return element.type == LLAMA_GRETYPE_END || element.type == LLAMA_GRETYPE_ALT;
}

const char* skip_space(const char* at) {
    while (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r' || *at == '#') {
        if (*at == '#') {
            while (*at != '\0' && *at != '\n' && *at != '\r') {
                ++at;
            }
        } else {
            ++at;
        }
    }
    return at;
}

// Returns the parser's message without the rest of the grammar, which the parser appends.
std::string reason(const std::string& said) {
    constexpr std::size_t kLongest = 100;
    return utf8_shortened(said, std::min(said.find_first_of("\r\n"), kLongest));
}

class Check {
public:
    Check(const std::string& path, const llama_vocab* vocab) : path_(path), parser_(vocab) {}

    void parse(const std::string& text) {
        const char* at = skip_space(text.c_str());
        const char* rule = at;
        try {
            while (*at != '\0') {
                rule = at;
                at = parser_.parse_rule(at);
            }
        } catch (const Error&) {
            throw;
        } catch (const std::exception& error) {
            throw_if_out_of_memory(error);
            const auto line = line_of(text, static_cast<std::size_t>(rule - text.c_str()));
            refuse("the rule on line " + std::to_string(line) + " does not parse: " + reason(error.what()));
        }
    }

    void names() {
        for (const auto& [name, id] : parser_.symbol_ids) {
            if (id >= parser_.rules.size() || parser_.rules[id].empty()) {
                refuse("undefined rule \"" + reason(name) + "\"; define it, or remove the reference");
            }
        }
        if (!parser_.symbol_ids.contains("root")) {
            refuse("missing rule \"root\", with which an answer starts");
        }
    }

    // Refuses characters outside of Unicode and empty classes, which no answer can match: sampling would
    // never end.
    void characters() {
        for (std::size_t rule = 0; rule < parser_.rules.size(); ++rule) {
            const auto& elements = parser_.rules[rule];
            for (std::size_t i = 0; i < elements.size(); ++i) {
                if (elements[i].type == LLAMA_GRETYPE_CHAR || elements[i].type == LLAMA_GRETYPE_CHAR_NOT) {
                    check_class(elements, i, rule);
                }
            }
        }
    }

    // Throws if a rule is left-recursive, or if llama.cpp's own check would take too long or recurse too
    // deeply. Follows the leftmost symbols of each rule as llama.cpp does, but visits each rule once.
    void left_recursion() {
        const auto size = parser_.rules.size();
        std::vector<State> states(size);
        std::size_t calls = 0;
        for (std::size_t start = 0; start < size; ++start) {
            follow(start, states);
            calls += std::min(states[start].calls, kMaxCalls);
            if (calls > kMaxCalls || states[start].depth > kDeepestCalls) {
                refuse("too many rules begin with each other, such as " + name_of(start) + "; use fewer");
            }
        }
    }

    void ways() {
        if (const auto which = too_many_ways(parser_.rules, parser_.symbol_ids.at("root")); which) {
            refuse(
                "too ambiguous from " + name_of(*which) +
                " on; write repetitions and optional parts so that the next character tells them apart"
            );
        }
    }

private:
    struct State {
        enum class Seen { No, Open, Done } seen = Seen::No;
        std::size_t calls = 1;
        std::size_t depth = 1;
    };

    // A rule on the path being followed, and its next leftmost rule to visit.
    struct Open {
        std::size_t rule;
        std::vector<std::size_t> first;
        std::size_t next = 0;
    };

    // Checks the character or character class that begins at `at`.
    void check_class(const std::vector<llama_grammar_element>& elements, std::size_t at, std::size_t rule) {
        constexpr std::uint32_t kMax = 0x10FFFF;
        std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges;
        for (std::size_t i = at; i < elements.size(); ++i) {
            const auto& [type, character] = elements[i];
            if (type == LLAMA_GRETYPE_CHAR_RNG_UPPER) {
                ranges.back().second = character;
            } else if (i == at || type == LLAMA_GRETYPE_CHAR_ALT) {
                ranges.emplace_back(character, character);
            } else {
                break;
            }
            if (character > kMax) {
                refuse("a character beyond U+10FFFF in " + name_of(rule));
            }
        }
        std::sort(ranges.begin(), ranges.end());
        std::uint32_t next = 0; // first code point not covered so far
        for (const auto& [first, last] : ranges) {
            if (first > last) {
                refuse("a character range in " + name_of(rule) + " ends before it begins");
            }
            next = first <= next ? std::max(next, last + 1) : next;
        }
        if (elements[at].type == LLAMA_GRETYPE_CHAR_NOT && next > kMax) {
            refuse("a character class in " + name_of(rule) + " excludes every character");
        }
    }

    [[noreturn]] void refuse(const std::string& why) const {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid " + path_ + ": " + why);
    }

    // Returns the name of a rule, for errors. llama.cpp names a generated sub-rule after its rule, with a
    // suffix, which is left out.
    std::string name_of(std::size_t rule) const {
        for (const auto& [name, id] : parser_.symbol_ids) {
            if (id == rule) {
                return "rule \"" + reason(name.substr(0, name.find('_'))) + "\"";
            }
        }
        return "a rule";
    }

    bool may_be_empty(std::size_t rule) const {
        bool at_start = true;
        for (const auto& element : parser_.rules[rule]) {
            if (is_end(element) && at_start) {
                return true;
            }
            at_start = is_end(element);
        }
        return false;
    }

    std::vector<std::size_t> first_of(std::size_t rule) const {
        std::vector<std::size_t> first;
        bool begins = true;
        for (const auto& element : parser_.rules[rule]) {
            if (is_end(element)) {
                begins = true;
            } else if (begins && element.type == LLAMA_GRETYPE_RULE_REF) {
                first.push_back(element.value);
                begins = may_be_empty(element.value);
            } else {
                begins = false;
            }
        }
        return first;
    }

    void follow(std::size_t start, std::vector<State>& states) const {
        if (states[start].seen == State::Seen::Done) {
            return;
        }
        std::vector<Open> open = {{start, first_of(start)}};
        states[start].seen = State::Seen::Open;
        while (!open.empty()) {
            auto& last = open.back();
            auto& state = states[last.rule];
            if (last.next == last.first.size()) {
                state.seen = State::Seen::Done;
                open.pop_back();
                continue;
            }
            auto& inner = states[last.first[last.next]];
            if (inner.seen == State::Seen::Open) {
                refuse(
                    "left-recursive: " + name_of(last.first[last.next]) +
                    " may begin with itself; write it as a repetition"
                );
            }
            if (inner.seen == State::Seen::No) {
                inner.seen = State::Seen::Open;
                const auto next = last.first[last.next];
                open.push_back({next, first_of(next)}); // then continues with the current rule
                continue;
            }
            state.calls = std::min(state.calls + inner.calls, kMaxCalls + 1);
            state.depth = std::max(state.depth, inner.depth + 1);
            ++last.next;
        }
    }

    const std::string& path_;
    llama_grammar_parser parser_;
};

} // namespace

void check_grammar(const std::string& gbnf, const std::string& path, const llama_vocab* vocab) {
    check_grammar_size(gbnf, path);
    Check check(path, vocab);
    check.parse(gbnf);
    check.names();
    check.characters();
    check.left_recursion();
    check.ways();
}

} // namespace sotto::llama
