// A small model that guesses what a larger one of the same vocabulary says next.
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
    // Tokens that it reads at once: as many as a step may take it to hear what it has not heard yet.
    static constexpr std::uint32_t kAtOnce = 64;

    // Remembers nothing yet.
    Draft(Weights weights, Options options) : weights_(std::move(weights)), options_(std::move(options)) {}

    // Creates a context for `sequences` sequences, at least 1. Throws Error.
    void remember(Call& call, std::uint32_t sequences);
    // Frees the context with its KV cache.
    void forget() noexcept;

    // None: it remembers nothing.
    llama_context* context() const noexcept { return context_.get(); }
    // Of its context.
    Memory memory() const { return memory_of(context_.get(), options_); }

    // What follows `tokens`, which it remembers as `sequence`'s; empty where it was told to stop. None: it
    // has not heard all of them yet, but more than before.
    std::optional<std::vector<llama_token>>
    guess(llama_seq_id sequence, std::span<const llama_token> tokens, std::size_t most);

private:
    bool hear(llama_seq_id sequence, std::span<const llama_token> tokens);
    llama_token likeliest() const;

    Weights weights_;
    Options options_;
    Context context_;
    std::vector<std::vector<llama_token>> heard_; // by sequence
};

// Names the option in the errors of `body`, which opens or resizes a draft model.
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

// Throws Error(SOTTO_ERROR_ARGUMENT) where the two do not have the same tokens.
void check_same_tokens(const llama_model* model, const llama_model* draft);

} // namespace sotto::llama
