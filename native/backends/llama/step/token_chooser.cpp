// Chooses the next tokens of an answer from the logits of a batch, and accepts the draft tokens that equal
// them.
#include "step/token_chooser.hpp"

#include "runtime/guard.hpp"

namespace sotto::llama {

void TokenChooser::choose(const StepItem& item) {
    auto& stream = *item.stream;
    std::string text;
    for (std::size_t i = 0;; ++i) {
        const auto token = sample(item, static_cast<std::int32_t>(i));
        if (token == LLAMA_TOKEN_NULL) {
            break;
        }
        record_guess(item, i, token);
        if (!add(stream, token, text)) {
            break;
        }
        if (i >= item.guess.size() || token != item.guess[i]) {
            break;
        }
        stream.kv.tokens.advance(1); // the batch computed the draft token
    }
    if (!item.guess.empty()) {
        kv_.cut(stream.kv, stream.kv.tokens.held());
    }
    if (!stream.chosen.ends() && !make_room(stream)) {
        stream.chosen.end(SOTTO_FINISH_LENGTH);
    }
}

// Samples the token at `index`, counted from the first one of the step. Throws if the first token cannot be
// chosen. Returns LLAMA_TOKEN_NULL if a later token cannot be chosen: the tokens before are delivered, and
// the next step tries that token again.
llama_token TokenChooser::sample(const StepItem& item, std::int32_t index) {
    auto& stream = *item.stream;
    try {
        return stream.request.sampler->choose(contexts_.get(), item.output + index);
    } catch (const std::exception& error) {
        throw_if_lost(error);
        if (index == 0) {
            throw;
        }
        stream.kv.tokens.retract();
        return LLAMA_TOKEN_NULL;
    }
}

void TokenChooser::record_guess(const StepItem& item, std::size_t index, llama_token token) {
    const auto expected = index < item.guess.size() ? item.guess[index]
                          : index == 0              ? item.expected
                                                    : LLAMA_TOKEN_NULL;
    if (expected != LLAMA_TOKEN_NULL) {
        speculator_.saw(item, token == expected);
    }
}

// Adds a token to the answer. Returns false if the token ends
// the answer. `text`: a buffer that is reused for each token.
bool TokenChooser::add(Stream& stream, llama_token token, std::string& text) {
    const auto& sampler = *stream.request.sampler;
    if (tokenizer_.ends_answer(token)) {
        const auto finish = sampler.closed_early() ? SOTTO_FINISH_LENGTH : SOTTO_FINISH_STOP;
        stream.chosen.push({"", "", false, finish, LLAMA_TOKEN_NULL, false});
        return false;
    }
    if (stream.request.shown.contains(token)) {
        text = tokenizer_.piece_of(token);
    } else {
        tokenizer_.text_of(token, text);
    }
    stream.kv.tokens.append(token);
    stream.chosen.push({text, sampler.told(), true, SOTTO_FINISH_NONE, token, false});
    return true;
}

// Drops tokens from the middle of a full context if the request allows that. Returns false if the answer must
// end instead.
bool TokenChooser::make_room(Stream& stream) {
    if (stream.kv.tokens.tokens().size() <= max_tokens_) {
        return true;
    }
    stream.chosen.truncate();
    if (stream.request.overflow != Overflow::Shift) {
        return false;
    }
    kv_.drop_middle(stream.kv, stream.request.keep);
    return true;
}

} // namespace sotto::llama
