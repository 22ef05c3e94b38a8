// A grammar as an automaton over characters, which is made as it is used.
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

// llama.cpp keeps all the ways in which an answer so far can be read, as stacks of places in the grammar.
// Here each set of stacks is a state, and each step from one to the next is computed once.
class Automaton {
public:
    using State = std::uint32_t;
    static constexpr State kDead = 0; // no answer goes on from here

    // Throws std::runtime_error where llama.cpp cannot read `gbnf`. Without a vocabulary a grammar may name
    // tokens by their number alone.
    explicit Automaton(
        const std::string& gbnf, const llama_vocab* vocab = nullptr, std::size_t max_states = 16'384
    );

    // False where the grammar names tokens: these are no characters, so the automaton cannot follow them.
    bool is_usable() const noexcept { return usable_; }

    State start() const noexcept { return start_; }

    // The state after one more character.
    State next(State state, char32_t character);

    // Whether any character from `first` to `last` leads on.
    bool leads_on(State state, char32_t first, char32_t last);

    // Whether an answer may end here.
    bool is_end(State state) const { return places_[state].ends; }

    // Forgets every other state where those that are known take too much memory. Returns what `state` is from
    // now on; the start is not known any more.
    State shrink(State state);

private:
    struct Free {
        void operator()(llama_grammar* grammar) const { llama_grammar_free_impl(grammar); }
    };
    struct Place {
        llama_grammar_stacks stacks;
        bool ends;
    };
    static constexpr State kUnknown = UINT32_MAX;
    static constexpr char32_t kAscii = 128;

    void find_classes();
    std::uint32_t class_of(char32_t character) const;
    State known(llama_grammar_stacks stacks);

    std::unique_ptr<llama_grammar, Free> grammar_;
    std::size_t max_states_;
    bool usable_ = true;
    std::vector<char32_t> limits_;                 // where a class of characters begins that none tells apart
    std::array<std::uint32_t, kAscii> ascii_ = {}; // their classes
    std::vector<Place> places_;
    std::map<llama_grammar_stacks, State> states_;
    std::vector<State> steps_; // by state and class
    State start_ = kDead;
};

} // namespace sotto::llama
