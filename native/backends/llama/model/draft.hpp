// A draft model: a small model that proposes tokens for a larger one with the same vocabulary.
#pragma once

#include "model/context.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace sotto::llama {

class Draft {
public:
    // Maximum number of tokens per decode. It limits the time that one step spends on tokens that
    // the draft model has not decoded yet.
    static constexpr std::uint32_t kAtOnce = 64;

    // Starts without a context.
    Draft(Weights weights, Options options) : weights_(std::move(weights)), options_(std::move(options)) {}

    // Creates a context for `sequences` sequences, at least 1. There must be no context yet. Throws Error.
    void remember(Call& call, std::uint32_t sequences);
    // Frees the context and its KV cache.
    void forget() noexcept;

    // Returns null if there is no context.
    llama_context* context() const noexcept { return context_.get(); }
    // Memory of the context, without weights.
    Memory memory() const { return memory_of(context_.get(), options_); }

    // Returns up to `most` tokens that follow `tokens`, by highest logit; fewer or none if decoding fails or
    // is cancelled. First decodes the tokens that the KV cache of `sequence` does not hold yet. If these are
    // more than kAtOnce, decodes only kAtOnce tokens and returns nullopt.
    std::optional<std::vector<llama_token>>
    guess(llama_seq_id sequence, std::span<const llama_token> tokens, std::size_t most);

private:
    bool hear(llama_seq_id sequence, std::span<const llama_token> tokens);
    llama_token likeliest() const;

    Weights weights_;
    Options options_;
    Context context_;
    std::vector<std::vector<llama_token>> heard_; // tokens in the KV cache, by sequence
};

// Runs `body`, which opens or resizes a draft model. Prefixes error messages with the option's name.
template <typename Body>
void for_draft(Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        if (error.status() == SOTTO_ERROR_CANCELLED) {
            throw;
        }
        throw Error(error.status(), std::string("options.draft: ") + error.what());
    }
}

// Throws Error(SOTTO_ERROR_ARGUMENT) if the vocabularies differ.
void check_same_tokens(const llama_model* model, const llama_model* draft);

} // namespace sotto::llama
