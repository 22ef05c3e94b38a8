// Chooses the next token.
#pragma once

#include "runtime/fence.hpp"
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

// How a request wants tokens to be chosen, as llama.cpp has it. `context`: tokens that there can be.
// `index`: of the answer, for its seed. Throws Error(SOTTO_ERROR_ARGUMENT) for tokens or samplers that do
// not exist.
common_params_sampling sampling_of(
    const nlohmann::ordered_json& body, const Tokenizer& tokenizer, std::uint32_t context, std::uint32_t index
);

// The model's outputs hold NaNs.
class NoNumbers : public Error {
public:
    NoNumbers() : Error(SOTTO_ERROR_INFERENCE, "the model computes no numbers: its weights are damaged") {}
};

class Sampler {
public:
    // `likeliest`: how many alternatives are told with their log probabilities; below 0: nothing is told.
    // Throws Error(SOTTO_ERROR_ARGUMENT) for a grammar that llama.cpp cannot read.
    Sampler(const llama_model* model, const Tokenizer& tokenizer, common_params_sampling how, int likeliest);

    // Has an answer in JSON, held to it by a grammar, end within `limit` tokens. `lead_in_end`: as in
    // closing.hpp.
    void close_within(std::uint64_t limit, std::vector<std::string> lead_in_end);

    // Whether the answer was closed because its limit is near.
    bool closed_early() const noexcept { return closing_ && closing_->pressed(); }

    // Takes note of what penalties look back at.
    void heard(const std::vector<llama_token>& prompt);

    // Chooses from the logits that a batch's token `output` has. Throws Error(SOTTO_ERROR_INFERENCE) where
    // no number is the largest, or a grammar allows no token.
    llama_token choose(llama_context* context, std::int32_t output);

    // The log probabilities of the last choice, as OpenAI tells them; empty if they are not told.
    const std::string& told() const noexcept { return told_; }

private:
    struct Free {
        void operator()(common_sampler* sampler) const noexcept { common_sampler_free(sampler); }
    };

    void check(const float* logits) const;
    void keep_to_grammar(float* logits);
    llama_token greedy(float* logits) const;
    llama_token sampled(llama_context* context, std::int32_t output);
    void tell(const float* logits, llama_token chosen);

    const Tokenizer& tokenizer_;
    std::unique_ptr<common_sampler, Free> sampler_; // none: the likeliest
    std::vector<llama_token> banned_;               // of the likeliest
    bool has_grammar_ = false;
    std::set<llama_token> shown_; // control tokens that a grammar may want
    WellFormed bytes_;            // of an answer that is held to one
    std::optional<Closing> closing_;
    std::string text_;
    int likeliest_;
    std::vector<float> logits_; // a copy, where probabilities are told
    std::string told_;
};

} // namespace sotto::llama
