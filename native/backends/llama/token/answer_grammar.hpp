// The grammar that an answer is held to, and where in it the answer is.
#pragma once

#include "grammar/automaton.hpp"
#include "token/token_texts.hpp"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::llama {

class AnswerGrammar {
public:
    // The vocabulary of a model, which outlives the grammar.
    struct Vocabulary {
        const llama_vocab* vocab; // nullptr: the grammar names no tokens by their spelling
        const TokenTexts& texts;
        std::span<const std::int32_t> ends; // tokens that end an answer
        TokenTexts::Speller spell;
    };

    // Throws std::runtime_error for a grammar that llama.cpp cannot read.
    AnswerGrammar(const std::string& gbnf, const Vocabulary& vocabulary);

    // False where the grammar names tokens, which this class does not follow.
    bool is_usable() const noexcept { return automaton_.is_usable(); }

    // Whether the answer may go on with these bytes, the text of one token.
    bool allows(std::string_view bytes);
    // Whether the answer may end here.
    bool allows_end() const { return partial_.missing == 0 && automaton_.is_end(state_); }

    // Goes on with these bytes. Returns false where the grammar does not allow them.
    bool accept(std::string_view bytes);

    // Takes every token out that cannot come next.
    void mask(float* logits);

private:
    struct Position {
        Automaton::State state;
        PartialCharacter partial;
    };

    // Where the bytes lead to; a dead state where nothing goes on from there.
    Position after(std::string_view bytes);
    bool leads_on(Automaton::State state, const PartialCharacter& partial);
    void mask_texts(float* logits);
    void mask_inside_character(float* logits);

    Automaton automaton_;
    Vocabulary vocabulary_;
    Automaton::State state_;
    PartialCharacter partial_;
    std::vector<Automaton::State> path_; // of the token that is looked at, by its characters
    std::u32string text_;
};

} // namespace sotto::llama
