// Chooses the next tokens of an answer from the logits of a batch, and accepts the draft tokens that equal
// them.
#pragma once

#include "kv/kv_cache.hpp"
#include "step/speculator.hpp"
#include "step/step_item.hpp"
#include "token/tokenizer.hpp"

namespace sotto::llama {

class TokenChooser {
public:
    // `max_tokens`: context size of one stream.
    TokenChooser(
        Contexts& contexts,
        KvCache& kv,
        Speculator& speculator,
        const Tokenizer& tokenizer,
        std::size_t max_tokens
    )
        : contexts_(contexts), kv_(kv), speculator_(speculator), tokenizer_(tokenizer),
          max_tokens_(max_tokens) {}

    // Chooses one token, and one more for each accepted draft
    // token. Throws Error if the first token cannot be chosen.
    void choose(const StepItem& item);

private:
    llama_token sample(const StepItem& item, std::int32_t index);
    void record_guess(const StepItem& item, std::size_t index, llama_token token);
    bool add(Stream& stream, llama_token token, std::string& text);
    bool make_room(Stream& stream);

    Contexts& contexts_;
    KvCache& kv_;
    Speculator& speculator_;
    const Tokenizer& tokenizer_;
    const std::size_t max_tokens_;
};

} // namespace sotto::llama
