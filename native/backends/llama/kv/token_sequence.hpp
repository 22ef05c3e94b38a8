// The tokens of a prompt and of its answer, and the number of them that the KV cache holds.
#pragma once

#include "media/media.hpp"

#include <cstddef>
#include <cstdint>
#include <llama.h>
#include <span>
#include <utility>
#include <vector>

namespace sotto::llama {

// Returns the length of the longest common prefix.
std::size_t common_prefix(std::span<const llama_token> a, std::span<const llama_token> b);

class TokenSequence {
public:
    // `stretches`: the images and sounds of `prompt`, in order.
    TokenSequence(std::vector<llama_token> prompt, std::vector<Stretch> stretches);

    const std::vector<llama_token>& tokens() const noexcept { return tokens_; }
    std::size_t prompt_size() const noexcept { return prompt_size_; }
    bool has_media() const noexcept { return !stretches_.empty(); }
    // Number of tokens, from the first on, that the KV cache holds.
    std::size_t held() const noexcept { return held_; }
    // Length of the prefix with KV cells that depend on no dropped token. SIZE_MAX: the cells of all held
    // tokens.
    std::size_t exact() const noexcept { return exact_; }
    // Number of tokens that the KV cache does not hold yet. During decode: 1, the last token.
    std::size_t pending() const noexcept { return tokens_.size() - held_; }
    // Returns true if tokens other than an answer's last one must be prefilled. These can be tokens of the
    // answer: if a step is cancelled, a KV cache that cannot be cut is emptied, and prompt and answer are
    // prefilled again.
    bool in_prompt() const noexcept { return held_ < prompt_size_ || pending() > 1; }

    // Returns the position of the token at `index` in the KV cache.
    llama_pos position(std::size_t index) const noexcept;
    // Returns the last position in a KV cache that holds `count` tokens; `count` is at least 1.
    llama_pos last_position(std::size_t count) const noexcept;
    // Returns the image or sound that contains the token at `index`; null: text.
    Stretch* stretch_at(std::size_t index) noexcept;
    // Rounds an index inside an image or sound to its begin
    // (floor) or end (ceiling). Returns any other index unchanged.
    std::size_t floor(std::size_t index) const noexcept;
    std::size_t ceiling(std::size_t index) const noexcept;
    // Returns the number of pending text tokens before the next image or sound.
    std::size_t text_ahead() const noexcept;

    void append(llama_token token) { tokens_.push_back(token); }
    // Call after the KV cache was cut to the first `count` tokens.
    void hold(std::size_t count) noexcept;
    // Sets exact(). Call after the KV cache was cut, or after the stream got a slot with cached tokens.
    void set_exact(std::size_t exact) noexcept { exact_ = exact; }
    // Call after the KV cache computed `count` more tokens.
    void advance(std::size_t count) noexcept { held_ += count; }
    // Marks the last held token as pending, so that the next step computes it again.
    void retract() noexcept { --held_; }
    // Drops the tokens [begin, end). Neither bound may be inside an image or sound. held() is unchanged.
    void drop(std::size_t begin, std::size_t end);
    // Call after the KV cache dropped `count` tokens at `begin` and shifted the later tokens down.
    void hold_shifted(std::size_t begin, std::size_t count) noexcept;
    // Moves the tokens out. The sequence must not be used afterwards.
    std::vector<llama_token> take_tokens() noexcept { return std::move(tokens_); }

private:
    std::vector<llama_token> tokens_; // the prompt, then the answer
    std::vector<Stretch> stretches_;
    std::size_t prompt_size_;
    std::size_t held_ = 0;
    std::size_t exact_ = SIZE_MAX;
};

} // namespace sotto::llama
