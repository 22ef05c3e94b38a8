// The grammar of an answer, and its state after the tokens so far.
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
    // Vocabulary of a model. The objects that it refers to must outlive the grammar.
    struct Vocabulary {
        const llama_vocab* vocab; // may be null if the grammar names no token
        const TokenTexts& texts;
        std::span<const std::int32_t> ends; // tokens that end an answer
        TokenTexts::TextOf text_of;
    };

    // Throws std::runtime_error if llama.cpp cannot parse the grammar.
    AnswerGrammar(const std::string& gbnf, const Vocabulary& vocabulary);

    // Returns false if the grammar names tokens, which this class does not support.
    bool is_usable() const noexcept { return automaton_.is_usable(); }

    // Returns true if the grammar allows `bytes`, the text of one token, next.
    bool allows(std::string_view bytes);
    // Returns true if the answer may end here.
    bool allows_end() const { return partial_.missing == 0 && automaton_.is_end(state_); }

    // Advances by the bytes of a token. Returns false, and changes nothing, if the grammar rejects them.
    bool accept(std::string_view bytes);

    // Sets the logits of all tokens that the grammar rejects to -infinity.
    void mask(float* logits);

private:
    struct Position {
        Automaton::State state;
        PartialCharacter partial;
    };

    // Returns the position after `bytes`; a dead state if the grammar rejects them.
    Position after(std::string_view bytes);
    bool is_viable(Automaton::State state, const PartialCharacter& partial);
    void mask_texts(float* logits);
    void mask_inside_character(float* logits);

    Automaton automaton_;
    Vocabulary vocabulary_;
    Automaton::State state_;
    PartialCharacter partial_;
    std::vector<Automaton::State> path_; // scratch: the state after each character of a token
    std::u32string text_;                // scratch
};

} // namespace sotto::llama
