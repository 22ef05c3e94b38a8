// The tokens of a prompt and of its answer, and the number of them that the KV cache holds.
#include "kv/token_sequence.hpp"

#include <algorithm>

namespace sotto::llama {

std::size_t common_prefix(std::span<const llama_token> a, std::span<const llama_token> b) {
    return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

TokenSequence::TokenSequence(std::vector<llama_token> prompt, std::vector<Stretch> stretches)
    : tokens_(std::move(prompt)), stretches_(std::move(stretches)), prompt_size_(tokens_.size()) {}

llama_pos TokenSequence::position(std::size_t index) const noexcept {
    auto position = static_cast<llama_pos>(index);
    for (const auto& stretch : stretches_) {
        if (stretch.end() <= index) {
            position -= static_cast<llama_pos>(stretch.tokens) - stretch.positions;
        }
    }
    return position;
}

llama_pos TokenSequence::last_position(std::size_t count) const noexcept {
    for (const auto& stretch : stretches_) {
        const bool in_rows = stretch.positions != static_cast<llama_pos>(stretch.tokens);
        if (stretch.end() == count && in_rows) { // all cells of the image have its first position
            return position(stretch.begin);
        }
    }
    return position(count) - 1;
}

Stretch* TokenSequence::stretch_at(std::size_t index) noexcept {
    for (auto& stretch : stretches_) {
        if (stretch.begin <= index && index < stretch.end()) {
            return &stretch;
        }
    }
    return nullptr;
}

std::size_t TokenSequence::floor(std::size_t index) const noexcept {
    for (const auto& stretch : stretches_) {
        if (stretch.begin < index && index < stretch.end()) {
            return stretch.begin;
        }
    }
    return index;
}

std::size_t TokenSequence::ceiling(std::size_t index) const noexcept {
    for (const auto& stretch : stretches_) {
        if (stretch.begin < index && index < stretch.end()) {
            return stretch.end();
        }
    }
    return index;
}

std::size_t TokenSequence::text_ahead() const noexcept {
    for (const auto& stretch : stretches_) {
        if (held_ < stretch.end()) {
            return stretch.begin - std::min(held_, stretch.begin);
        }
    }
    return pending();
}

void TokenSequence::hold(std::size_t count) noexcept {
    held_ = count;
    exact_ = count <= exact_ ? SIZE_MAX : exact_;
}

void TokenSequence::drop(std::size_t begin, std::size_t end) {
    tokens_.erase(
        tokens_.begin() + static_cast<std::ptrdiff_t>(begin),
        tokens_.begin() + static_cast<std::ptrdiff_t>(end)
    );
    std::erase_if(stretches_, [&](const Stretch& stretch) {
        return stretch.begin >= begin && stretch.begin < end;
    });
    for (auto& stretch : stretches_) {
        stretch.begin -= stretch.begin >= end ? end - begin : 0;
    }
    prompt_size_ = std::min(prompt_size_, tokens_.size() - 1);
}

void TokenSequence::hold_shifted(std::size_t begin, std::size_t count) noexcept {
    held_ -= count;
    exact_ = std::min(exact_, begin);
}

} // namespace sotto::llama
