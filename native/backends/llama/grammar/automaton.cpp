#include "grammar/automaton.hpp"

#include <algorithm>
#include <stdexcept>

namespace sotto::llama {
namespace {

constexpr std::size_t kMaxTransitions = 1 << 20; // 4 bytes each

bool is_character(llama_gretype type) {
    return type == LLAMA_GRETYPE_CHAR || type == LLAMA_GRETYPE_CHAR_NOT || type == LLAMA_GRETYPE_CHAR_ALT;
}

} // namespace

Automaton::Automaton(const std::string& gbnf, const llama_vocab* vocab, std::size_t max_states)
    : grammar_(llama_grammar_init_impl(vocab, gbnf.c_str(), "root", false, nullptr, 0, nullptr, 0)),
      max_states_(max_states) {
    if (!grammar_) {
        throw std::runtime_error("failed to parse grammar");
    }
    find_classes();
    state_of({}); // the first state is kDead
    start_ = state_of(llama_grammar_get_stacks(grammar_.get()));
}

void Automaton::find_classes() {
    limits_ = {0};
    for (const auto& rule : llama_grammar_get_rules(grammar_.get())) {
        for (std::size_t i = 0; i < rule.size(); ++i) {
            if (rule[i].type == LLAMA_GRETYPE_TOKEN || rule[i].type == LLAMA_GRETYPE_TOKEN_NOT) {
                usable_ = false;
            } else if (is_character(rule[i].type)) {
                const bool range = i + 1 < rule.size() && rule[i + 1].type == LLAMA_GRETYPE_CHAR_RNG_UPPER;
                limits_.push_back(rule[i].value);
                limits_.push_back((range ? rule[i + 1].value : rule[i].value) + 1);
            }
        }
    }
    std::sort(limits_.begin(), limits_.end());
    limits_.erase(std::unique(limits_.begin(), limits_.end()), limits_.end());
    for (char32_t character = 0; character < kAscii; ++character) {
        const auto next = std::upper_bound(limits_.begin(), limits_.end(), character);
        ascii_[character] = static_cast<std::uint32_t>(next - limits_.begin() - 1);
    }
}

std::uint32_t Automaton::class_of(char32_t character) const {
    if (character < kAscii) {
        return ascii_[character];
    }
    const auto next = std::upper_bound(limits_.begin(), limits_.end(), character);
    return static_cast<std::uint32_t>(next - limits_.begin() - 1);
}

Automaton::State Automaton::state_of(llama_grammar_stacks stacks) {
    std::sort(stacks.begin(), stacks.end());
    const auto [found, is_new] = states_.try_emplace(std::move(stacks), static_cast<State>(data_.size()));
    if (is_new) {
        const auto& made = found->first;
        const bool ends =
            std::any_of(made.begin(), made.end(), [](const auto& stack) { return stack.empty(); });
        data_.push_back({made, ends});
        transitions_.resize(data_.size() * limits_.size(), kUnknown);
    }
    return found->second;
}

Automaton::State Automaton::next(State state, char32_t character) {
    const auto at = state * limits_.size() + class_of(character);
    if (transitions_[at] == kUnknown) {
        auto& stacks = llama_grammar_get_stacks(grammar_.get());
        stacks = data_[state].stacks;
        llama_grammar_accept(grammar_.get(), static_cast<std::uint32_t>(character));
        transitions_[at] = state_of(std::move(stacks));
    }
    return transitions_[at];
}

bool Automaton::accepts_any(State state, char32_t first, char32_t last) {
    const auto end = class_of(last);
    for (auto one = class_of(first); one <= end; ++one) {
        if (next(state, std::max(first, limits_[one])) != kDead) {
            return true;
        }
    }
    return false;
}

Automaton::State Automaton::shrink(State state) {
    if (data_.size() <= max_states_ && transitions_.size() <= kMaxTransitions) {
        return state;
    }
    auto stacks = std::move(data_[state].stacks);
    states_.clear();
    data_.clear();
    transitions_.clear();
    state_of({});
    start_ = kDead;
    return state_of(std::move(stacks));
}

} // namespace sotto::llama
