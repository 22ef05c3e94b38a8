// A grammar as a deterministic automaton over characters, built lazily.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <llama-grammar.h>

namespace sotto::llama {

// llama.cpp keeps a set of parser stacks for the answer so far. Each distinct set becomes a state
// here, and each transition is computed by llama.cpp once, then cached.
class Automaton {
public:
    using State = std::uint32_t;
    static constexpr State kDead = 0; // the text so far is not accepted

    // Throws std::runtime_error if llama.cpp cannot parse `gbnf`. A grammar that names
    // tokens by their text needs the vocabulary.
    explicit Automaton(
        const std::string& gbnf, const llama_vocab* vocab = nullptr, std::size_t max_states = 4'096
    );

    // Returns false if the grammar names tokens, which the automaton does not support.
    bool is_usable() const noexcept { return usable_; }

    State start() const noexcept { return start_; }

    // Returns the state after one more character.
    State next(State state, char32_t character);

    // Returns true if any character from `first` to `last` is accepted.
    bool accepts_any(State state, char32_t first, char32_t last);

    // Returns true if the text may end in this state.
    bool is_end(State state) const { return data_[state].ends; }

    // Drops all states but `state` if the states take too much memory. Returns the number that `state` has
    // afterwards; start() is invalid if states were dropped.
    State shrink(State state);

private:
    struct Free {
        void operator()(llama_grammar* grammar) const { llama_grammar_free_impl(grammar); }
    };
    struct StateData {
        llama_grammar_stacks stacks;
        bool ends; // the text may end here
    };
    static constexpr State kUnknown = UINT32_MAX;
    static constexpr char32_t kAscii = 128;

    void find_classes();
    std::uint32_t class_of(char32_t character) const;
    State state_of(llama_grammar_stacks stacks);

    std::unique_ptr<llama_grammar, Free> grammar_;
    std::size_t max_states_;
    bool usable_ = true;
    std::vector<char32_t> limits_; // first character of each class, which all rules treat alike
    std::array<std::uint32_t, kAscii> ascii_ = {}; // class of each ASCII character
    std::vector<StateData> data_;                  // by state
    std::map<llama_grammar_stacks, State> states_;
    std::vector<State> transitions_; // by state and class
    State start_ = kDead;
};

} // namespace sotto::llama
