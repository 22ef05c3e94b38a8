// Where the tokens of a conversation stand, of which some are no text.
#include "step/stream.hpp"

#include <algorithm>
#include <limits>

namespace sotto::llama {

llama_pos Stream::position(std::size_t index) const noexcept {
    auto position = static_cast<llama_pos>(index);
    for (const auto& stretch : how.stretches) {
        if (stretch.end() <= index) {
            position -= static_cast<llama_pos>(stretch.tokens) - stretch.positions;
        }
    }
    return position;
}

llama_pos Stream::last_position(std::size_t count) const noexcept {
    for (const auto& stretch : how.stretches) {
        const bool in_rows = stretch.positions != static_cast<llama_pos>(stretch.tokens);
        if (stretch.end() == count && in_rows) { // all of it stands where it begins
            return position(stretch.begin);
        }
    }
    return position(count) - 1;
}

Stretch* Stream::stretch_at(std::size_t index) noexcept {
    for (auto& stretch : how.stretches) {
        if (stretch.begin <= index && index < stretch.end()) {
            return &stretch;
        }
    }
    return nullptr;
}

std::size_t Stream::floor(std::size_t index) const noexcept {
    for (const auto& stretch : how.stretches) {
        if (stretch.begin < index && index < stretch.end()) {
            return stretch.begin;
        }
    }
    return index;
}

std::size_t Stream::ceiling(std::size_t index) const noexcept {
    for (const auto& stretch : how.stretches) {
        if (stretch.begin < index && index < stretch.end()) {
            return stretch.end();
        }
    }
    return index;
}

std::size_t Stream::text_ahead() const noexcept {
    for (const auto& stretch : how.stretches) {
        if (held < stretch.end()) {
            return stretch.begin - std::min(held, stretch.begin);
        }
    }
    return pending();
}

std::uint32_t Stream::piece_ahead() const noexcept {
    if (!how.alone) {
        return std::numeric_limits<std::uint32_t>::max();
    }
    return held < prompt_size ? static_cast<std::uint32_t>(prompt_size - held) : 1;
}

void Stream::hold(std::size_t count) noexcept {
    held = count;
    exact = count <= exact ? SIZE_MAX : exact;
}

void Stream::forget(std::size_t begin, std::size_t end) {
    tokens.erase(
        tokens.begin() + static_cast<std::ptrdiff_t>(begin), tokens.begin() + static_cast<std::ptrdiff_t>(end)
    );
    auto& stretches = how.stretches;
    std::erase_if(stretches, [&](const Stretch& stretch) {
        return stretch.begin >= begin && stretch.begin < end;
    });
    for (auto& stretch : stretches) {
        stretch.begin -= stretch.begin >= end ? end - begin : 0;
    }
}

} // namespace sotto::llama
