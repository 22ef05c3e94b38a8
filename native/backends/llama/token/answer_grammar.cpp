// Tracks an answer's position in its grammar, and masks the tokens that the grammar rejects.
#include "token/answer_grammar.hpp"

#include <algorithm>
#include <cmath>

namespace sotto::llama {

AnswerGrammar::AnswerGrammar(const std::string& gbnf, const Vocabulary& vocabulary)
    : automaton_(gbnf, vocabulary.vocab), vocabulary_(vocabulary), state_(automaton_.start()),
      path_(vocabulary.texts.longest() + 1) {}

AnswerGrammar::Position AnswerGrammar::after(std::string_view bytes) {
    Position position{state_, partial_};
    text_.clear();
    if (!read_utf8(bytes, position.partial, text_)) {
        return {Automaton::kDead, {}};
    }
    for (const auto character : text_) {
        position.state = automaton_.next(position.state, character);
    }
    return is_viable(position.state, position.partial) ? position : Position{Automaton::kDead, {}};
}

bool AnswerGrammar::is_viable(Automaton::State state, const PartialCharacter& partial) {
    if (state == Automaton::kDead || partial.missing == 0) {
        return state != Automaton::kDead;
    }
    return automaton_.accepts_any(state, partial.first(), partial.last());
}

bool AnswerGrammar::allows(std::string_view bytes) {
    return !bytes.empty() && after(bytes).state != Automaton::kDead;
}

bool AnswerGrammar::accept(std::string_view bytes) {
    const auto position = after(bytes);
    if (position.state == Automaton::kDead) {
        return false;
    }
    state_ = automaton_.shrink(position.state);
    partial_ = position.partial;
    return true;
}

void AnswerGrammar::mask(float* logits) {
    if (partial_.missing == 0) {
        mask_texts(logits);
    } else {
        mask_inside_character(logits);
    }
}

// Tokens are sorted: each is checked from the first character in which it differs from the token
// before, and tokens that share a rejected beginning are rejected without a check.
void AnswerGrammar::mask_texts(float* logits) {
    std::vector<float> ends;
    for (const auto token : vocabulary_.ends) {
        ends.push_back(allows_end() ? logits[token] : -INFINITY);
    }
    for (const auto token : vocabulary_.texts.irregular()) {
        logits[token] = -INFINITY;
    }
    path_[0] = state_;
    std::size_t dead = SIZE_MAX; // index of the character that rejected the token before
    for (const auto& token : vocabulary_.texts.tokens()) {
        if (token.shared <= dead) {
            dead = SIZE_MAX;
            const auto* characters = vocabulary_.texts.characters(token);
            for (std::size_t i = token.shared; i < token.length; ++i) {
                path_[i + 1] = automaton_.next(path_[i], characters[i]);
                if (path_[i + 1] == Automaton::kDead) {
                    dead = i;
                    break;
                }
            }
        }
        if (dead != SIZE_MAX || !is_viable(path_[token.length], token.partial)) {
            logits[token.token] = -INFINITY;
        }
    }
    for (std::size_t i = 0; i < ends.size(); ++i) {
        logits[vocabulary_.ends[i]] = ends[i];
    }
}

// Inside a character, only tokens that begin with a continuation byte can come next.
void AnswerGrammar::mask_inside_character(float* logits) {
    for (const auto& token : vocabulary_.texts.tokens()) {
        logits[token.token] = -INFINITY;
    }
    for (const auto token : vocabulary_.texts.irregular()) {
        if (!allows(vocabulary_.text_of(token))) {
            logits[token] = -INFINITY;
        }
    }
    for (const auto token : vocabulary_.ends) {
        logits[token] = -INFINITY;
    }
}

} // namespace sotto::llama
