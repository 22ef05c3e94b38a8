// Measures the ambiguity of a grammar: the number of parses that llama.cpp tracks.
//
// If the next character fits several alternatives, llama.cpp follows each alternative, and does not merge
// equal parses. This code feeds a run of one repeated character to each place of the grammar with a choice,
// and counts the parses. Most tokens are short words, and long tokens are such runs: blanks, lines of dashes.
#include "grammar/grammar_ways.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxStacks = 600;     // stacks reachable from one place
constexpr std::size_t kMaxSteps = 20'000;   // steps to find these stacks
constexpr std::size_t kDeepestStack = 2000; // symbols on a stack
constexpr std::size_t kLongestRun = 24;     // characters of a run
constexpr std::size_t kSoon = 1;            // a run ends unless parses grow from here to kLater
constexpr std::size_t kLater = 3;
constexpr std::uint64_t kMaxWays = 8192;  // parses of a run, summed over its characters
constexpr std::size_t kMaxTried = 12;     // characters tried at one place
constexpr std::size_t kMaxWork = 600'000; // steps in total

using Element = llama_grammar_element;
using Stack = std::vector<const Element*>;

struct TooMany {};

bool is_end(const Element* at) {
    return at->type == LLAMA_GRETYPE_END || at->type == LLAMA_GRETYPE_ALT;
}

bool is_token(const Element* at) {
    return at->type == LLAMA_GRETYPE_TOKEN || at->type == LLAMA_GRETYPE_TOKEN_NOT;
}

// Returns true if the character class at `at` contains `character`, and the element after the class.
std::pair<bool, const Element*> match(const Element* at, std::uint32_t character) {
    const bool inverse = at->type == LLAMA_GRETYPE_CHAR_NOT;
    bool found = false;
    do {
        if (at[1].type == LLAMA_GRETYPE_CHAR_RNG_UPPER) {
            found = found || (at->value <= character && character <= at[1].value);
            at += 2;
        } else {
            found = found || at->type == LLAMA_GRETYPE_CHAR_ANY || at->value == character;
            ++at;
        }
    } while (at->type == LLAMA_GRETYPE_CHAR_ALT);
    return {found != inverse, at};
}

// Returns a character that the class at `at` contains.
std::uint32_t one_of(const Element* at) {
    if (at->type == LLAMA_GRETYPE_CHAR) {
        return at->value;
    }
    for (std::uint32_t character = 'a'; at->type == LLAMA_GRETYPE_CHAR_NOT && character < 'a' + 64;
         ++character) {
        if (match(at, character).first) {
            return character;
        }
    }
    return ' ';
}

class Ways {
public:
    explicit Ways(const llama_grammar_rules& rules) : rules_(rules) {}

    // Feeds a run of each character that may follow `place`. Throws TooMany if a run has too many parses.
    void from(const Element* place) {
        Stacks stacks;
        expand({place}, 1, stacks);
        std::set<std::uint32_t> characters;
        for (const auto& [stack, count] : stacks) {
            if (!stack.empty() && !is_token(stack.back()) && characters.size() < kMaxTried) {
                characters.insert(one_of(stack.back()));
            }
        }
        for (const auto character : characters) {
            run(stacks, character);
        }
    }

private:
    using Stacks = std::map<Stack, std::uint64_t>; // value: number of parses that lead to the stack

    void run(Stacks stacks, std::uint32_t character) {
        std::uint64_t ways = 0;
        std::uint64_t soon = UINT64_MAX;
        for (std::size_t i = 0; i < kLongestRun && !stacks.empty(); ++i) {
            Stacks next;
            std::uint64_t now = 0;
            for (const auto& [stack, count] : stacks) {
                if (stack.empty() || is_token(stack.back())) {
                    continue;
                }
                const auto [fits, after] = match(stack.back(), character);
                if (!fits) {
                    continue;
                }
                auto rest = stack;
                rest.pop_back();
                if (!is_end(after)) {
                    rest.push_back(after);
                }
                expand(std::move(rest), count, next);
            }
            for (const auto& [stack, count] : next) {
                now += count;
            }
            if ((ways += now) > kMaxWays) {
                throw TooMany();
            }
            if (i == kSoon) {
                soon = now;
            } else if (i == kLater && now <= soon) {
                return; // no growth; later places are checked on their own
            }
            stacks = std::move(next);
        }
    }

    // Adds each stack with a character class on top that is reachable from `stack` without input.
    void expand(Stack stack, std::uint64_t count, Stacks& found) {
        std::vector<Stack> todo = {std::move(stack)};
        std::set<Stack> seen;
        while (!todo.empty()) {
            auto next = std::move(todo.back());
            todo.pop_back();
            if (!seen.insert(next).second) {
                continue;
            }
            if (seen.size() > kMaxSteps || ++work_ > kMaxWork || next.size() > kDeepestStack) {
                throw TooMany();
            }
            if (next.empty() || next.back()->type != LLAMA_GRETYPE_RULE_REF) {
                found[next] += count;
                if (found.size() > kMaxStacks) {
                    throw TooMany();
                }
                continue;
            }
            const auto* place = next.back();
            next.pop_back();
            if (!is_end(place + 1)) {
                next.push_back(place + 1);
            }
            alternatives(rules_[place->value], next, todo);
        }
    }

    static void alternatives(const llama_grammar_rule& rule, const Stack& below, std::vector<Stack>& todo) {
        for (const auto* at = rule.data();; ++at) {
            auto next = below;
            if (!is_end(at)) {
                next.push_back(at);
            }
            todo.push_back(std::move(next));
            while (!is_end(at)) {
                ++at;
            }
            if (at->type == LLAMA_GRETYPE_END) {
                return;
            }
        }
    }

    const llama_grammar_rules& rules_;
    std::size_t work_ = 0;
};

bool is_same_element(const Element& one, const Element& other) {
    return one.type == other.type && one.value == other.value;
}

// Returns true for one of the nested rules that llama.cpp generates for a repetition: x{0,9} is (x (x (x
// ...)?)?)?.
bool is_link(const llama_grammar_rules& rules, const llama_grammar_rule& rule) {
    const auto size = rule.size();
    if (size < 4 || rule[size - 2].type != LLAMA_GRETYPE_ALT ||
        rule[size - 3].type != LLAMA_GRETYPE_RULE_REF) {
        return false;
    }
    const auto& next = rules[rule[size - 3].value];
    return &next != &rule && next.size() == size &&
           std::equal(rule.begin(), rule.end() - 3, next.begin(), is_same_element) &&
           std::equal(rule.end() - 2, rule.end(), next.end() - 2, is_same_element) &&
           next[size - 3].type == LLAMA_GRETYPE_RULE_REF;
}

} // namespace

std::optional<std::size_t> too_many_ways(const llama_grammar_rules& rules, std::size_t root) {
    Ways ways(rules);
    const std::vector<Element> start = {
        {LLAMA_GRETYPE_RULE_REF, static_cast<std::uint32_t>(root)}, {LLAMA_GRETYPE_END, 0}
    };
    std::size_t rule = root;
    try {
        ways.from(start.data());
        for (rule = 0; rule < rules.size(); ++rule) {
            for (const auto& element : rules[rule]) {
                if (element.type == LLAMA_GRETYPE_RULE_REF && !is_link(rules, rules[rule])) {
                    ways.from(&element);
                }
            }
        }
    } catch (const TooMany&) {
        return rule;
    }
    return std::nullopt;
}

} // namespace sotto::llama
