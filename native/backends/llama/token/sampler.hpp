// Samples the next token.
#pragma once

#include "runtime/fence.hpp"
#include "token/answer_grammar.hpp"
#include "token/tokenizer.hpp"
#include "token/well_formed.hpp"

#include <common.h>
#include <cstdint>
#include <llama.h>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <sampling.h>
#include <set>
#include <string>

namespace sotto::llama {

// Converts a request's sampling fields to llama.cpp's parameters. `context`: context size in tokens. `index`:
// number of the choice, which changes the seed. Throws Error(SOTTO_ERROR_ARGUMENT) for unknown tokens or
// samplers.
common_params_sampling sampling_of(
    const nlohmann::ordered_json& body, const Tokenizer& tokenizer, std::uint32_t context, std::uint32_t index
);

// Thrown if the model's logits contain NaN.
class NoNumbers : public Error {
public:
    NoNumbers() : Error(SOTTO_ERROR_INFERENCE, "the model computes no numbers: its weights are damaged") {}
};

// The probabilities of tokens that a request wants.
struct TokenProbabilities {
    int alternatives = -1;       // number of tokens beside the chosen one; -1: no probabilities at all
    bool after_sampling = false; // probabilities that the samplers left, instead of the model's logarithms
};

class Sampler {
public:
    // Throws Error(SOTTO_ERROR_ARGUMENT) for a grammar that llama.cpp cannot parse.
    Sampler(
        const llama_model* model,
        const Tokenizer& tokenizer,
        common_params_sampling how,
        TokenProbabilities wanted
    );

    // Makes a grammar-constrained JSON answer or tool call end within `limit` tokens.
    void close_within(std::uint64_t limit, JsonFrame frame);

    // Returns true if the answer was closed early because of its limit.
    bool closed_early() const noexcept { return closing_ && closing_->pressed(); }

    // Adds the prompt to the tokens that repetition penalties look back at.
    void heard(const std::vector<llama_token>& prompt);

    // Samples from the logits of output `output` of the batch. Throws Error(SOTTO_ERROR_INFERENCE) if a logit
    // is NaN or no token is allowed.
    llama_token choose(llama_context* context, std::int32_t output);

    // Probabilities of the last choice, as in OpenAI's `logprobs.content`, or with `prob` and `top_probs` if
    // they are those after sampling; empty if not requested.
    const std::string& told() const noexcept { return told_; }

private:
    struct Free {
        void operator()(common_sampler* sampler) const noexcept { common_sampler_free(sampler); }
    };

    void check(const float* logits) const;
    void follow_grammar(common_params_sampling& how);
    void keep_to_grammar(float* logits);
    llama_token greedy(float* logits);
    llama_token likeliest(const float* logits) const;
    llama_token sampled(llama_context* context, std::int32_t output, float* logits);
    bool grammar_allows(llama_token token);
    void say(llama_token token);
    void tell(const float* logits, llama_token chosen);
    void tell_sampled(llama_token chosen);

    const Tokenizer& tokenizer_;
    std::unique_ptr<common_sampler, Free> sampler_; // null: greedy sampling
    std::vector<llama_token> banned_;               // excluded from greedy sampling
    bool has_grammar_ = false;
    std::optional<AnswerGrammar> grammar_; // empty: no grammar, or llama.cpp applies the grammar
    std::set<llama_token> shown_;          // special tokens that a grammar may refer to
    WellFormed bytes_;                     // used for answers with a grammar
    std::optional<Closing> closing_;
    std::string text_;
    const TokenProbabilities wanted_;
    std::vector<float> logits_; // a copy, if log probabilities are requested
    std::string told_;
};

} // namespace sotto::llama
