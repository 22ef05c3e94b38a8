// The tokens of a prompt and of its answer, and how many of them the KV cache holds.
#pragma once

#include "media/media.hpp"

#include <cstddef>
#include <cstdint>
#include <llama.h>
#include <span>
#include <utility>
#include <vector>

namespace sotto::llama {

// Number of tokens that both begin with.
std::size_t common_prefix(std::span<const llama_token> a, std::span<const llama_token> b);

class TokenSequence {
public:
    // `stretches`: the images and sounds of `prompt`, in order.
    TokenSequence(std::vector<llama_token> prompt, std::vector<Stretch> stretches);

    const std::vector<llama_token>& tokens() const noexcept { return tokens_; }
    std::size_t prompt_size() const noexcept { return prompt_size_; }
    bool has_media() const noexcept { return !stretches_.empty(); }
    // Tokens that the KV cache holds: the first ones.
    std::size_t held() const noexcept { return held_; }
    // Length of the prefix whose KV cells depend on no dropped token. SIZE_MAX: all that is held.
    std::size_t exact() const noexcept { return exact_; }
    // Tokens that the KV cache does not hold yet. While an answer is decoded: 1, the last token.
    std::size_t pending() const noexcept { return tokens_.size() - held_; }
    // True if more tokens wait for prefill than an answer's last one. If a step is cancelled, a KV cache that
    // cannot be truncated is cleared, and prompt and answer are prefilled again.
    bool in_prompt() const noexcept { return held_ < prompt_size_ || pending() > 1; }

    // Position of the token at `index` in the KV cache.
    llama_pos position(std::size_t index) const noexcept;
    // Last position in a KV cache that holds `count` tokens; `count` is at least 1.
    llama_pos last_position(std::size_t count) const noexcept;
    // The image or sound that the token at `index` belongs to; null: text.
    Stretch* stretch_at(std::size_t index) noexcept;
    // `index`, or the begin (floor) or end (ceiling) of the image or sound that `index` is inside of.
    std::size_t floor(std::size_t index) const noexcept;
    std::size_t ceiling(std::size_t index) const noexcept;
    // Number of pending text tokens before the next image or sound.
    std::size_t text_ahead() const noexcept;

    void append(llama_token token) { tokens_.push_back(token); }
    // The KV cache was cut to the first `count` tokens.
    void hold(std::size_t count) noexcept;
    // The KV cache was cut, or taken over, with a prefix of `exact` tokens; see exact().
    void set_exact(std::size_t exact) noexcept { exact_ = exact; }
    // The KV cache computed `count` more tokens.
    void advance(std::size_t count) noexcept { held_ += count; }
    // The last token held is computed again with the next step.
    void retract() noexcept { --held_; }
    // Drops the tokens from `begin` to `end`, both of them at a boundary of floor(). held() stays.
    void drop(std::size_t begin, std::size_t end);
    // The KV cache dropped `count` tokens at `begin` and moved those behind them.
    void hold_shifted(std::size_t begin, std::size_t count) noexcept;
    // Moves the tokens out: the sequence is not used any more.
    std::vector<llama_token> take_tokens() noexcept { return std::move(tokens_); }

private:
    std::vector<llama_token> tokens_; // the prompt, then the answer
    std::vector<Stretch> stretches_;
    std::size_t prompt_size_;
    std::size_t held_ = 0;
    std::size_t exact_ = SIZE_MAX;
};

} // namespace sotto::llama
