// A draft model: a small model that proposes tokens for a larger one with the same vocabulary.
#include "model/draft.hpp"

#include "kv/token_sequence.hpp"

#include <algorithm>

namespace sotto::llama {

void Draft::remember(Call& call, std::uint32_t sequences) {
    heard_.resize(sequences);
    context_ = make_context(call, weights_.get(), options_, sequences);
}

void Draft::forget() noexcept {
    context_.reset();
    heard_.clear();
}

std::optional<std::vector<llama_token>>
Draft::guess(llama_seq_id sequence, std::span<const llama_token> tokens, std::size_t most) {
    auto& heard = heard_[static_cast<std::size_t>(sequence)];
    const auto common = std::min(common_prefix(heard, tokens), tokens.size() - 1);
    if (common < heard.size()) {
        llama_memory_seq_rm(llama_get_memory(context_.get()), sequence, static_cast<llama_pos>(common), -1);
        heard.resize(common);
    }
    if (tokens.size() - common > kAtOnce) {
        hear(sequence, tokens.subspan(common, kAtOnce));
        return std::nullopt;
    }
    std::vector<llama_token> guess;
    bool goes_on = hear(sequence, tokens.subspan(common));
    while (goes_on) {
        guess.push_back(likeliest());
        goes_on = guess.size() < most && hear(sequence, std::span(guess).last(1));
    }
    return guess;
}

// Decodes tokens of a sequence. Returns true if that succeeded; the KV cache then holds them.
bool Draft::hear(llama_seq_id sequence, std::span<const llama_token> tokens) {
    auto& heard = heard_[static_cast<std::size_t>(sequence)];
    std::vector<llama_token> ids(tokens.begin(), tokens.end());
    std::vector<llama_pos> positions(ids.size());
    std::vector<std::int32_t> ones(ids.size(), 1);
    std::vector<llama_seq_id*> sequences(ids.size(), &sequence);
    std::vector<std::int8_t> outputs(ids.size());
    outputs.back() = 1;
    for (std::size_t i = 0; i < ids.size(); ++i) {
        positions[i] = static_cast<llama_pos>(heard.size() + i);
    }
    const llama_batch batch = {
        static_cast<std::int32_t>(ids.size()),
        ids.data(),
        nullptr,
        positions.data(),
        ones.data(),
        sequences.data(),
        outputs.data(),
    };
    int result = -2;
    try {
        result = llama_decode(context_.get(), batch);
    } catch (const std::exception& error) { // the step continues without draft tokens
        throw_if_lost(error);
    }
    if (result != 0) {
        throw_if_lost();
        llama_memory_seq_rm(
            llama_get_memory(context_.get()), sequence, static_cast<llama_pos>(heard.size()), -1
        );
        return false;
    }
    heard.insert(heard.end(), ids.begin(), ids.end());
    return true;
}

llama_token Draft::likeliest() const {
    const auto* logits = llama_get_logits_ith(context_.get(), -1);
    const auto count = llama_vocab_n_tokens(llama_model_get_vocab(weights_.get()));
    return static_cast<llama_token>(std::max_element(logits, logits + count) - logits);
}

void check_same_tokens(const llama_model* model, const llama_model* draft) {
    const auto* one = llama_model_get_vocab(model);
    const auto* other = llama_model_get_vocab(draft);
    const auto count = llama_vocab_n_tokens(one);
    const auto differ = [&](const std::string& how) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "the draft model's vocabulary differs from the model's: " + how +
                "; use a draft model with the same tokenizer"
        );
    };
    if (llama_vocab_n_tokens(other) != count) {
        differ(std::to_string(llama_vocab_n_tokens(other)) + " tokens instead of " + std::to_string(count));
    }
    for (llama_token token = 0; token < count; ++token) {
        if (std::string_view(llama_vocab_get_text(one, token)) != llama_vocab_get_text(other, token)) {
            differ("token " + std::to_string(token) + " has another text");
        }
    }
}

} // namespace sotto::llama
