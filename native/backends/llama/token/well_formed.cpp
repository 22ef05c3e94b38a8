// Keeps the bytes that a model says well-formed UTF-8, where llama.cpp's grammars do not.
#include "token/well_formed.hpp"

#include <algorithm>
#include <cmath>

namespace sotto::llama {
namespace {

// After some lead bytes, not every inner byte may come: these are those that may not.
struct Forbidden {
    std::uint8_t lead;
    std::uint8_t first;
    std::uint8_t last;
};

constexpr Forbidden kForbidden[] = {
    {0xE0, 0x80, 0x9F}, // too long for its character
    {0xED, 0xA0, 0xBF}, // half a character of UTF-16
    {0xF0, 0x80, 0x8F}, // too long for its character
    {0xF4, 0x90, 0xBF}, // beyond U+10FFFF
};

} // namespace

InnerTokens::InnerTokens(std::int32_t count, const Speller& spell) {
    std::vector<std::pair<std::uint8_t, std::int32_t>> found;
    std::string bytes;
    for (std::int32_t token = 0; token < count; ++token) {
        spell(token, bytes);
        const auto first = bytes.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(bytes[0]);
        if (first >= kFirst && first <= kLast) {
            found.emplace_back(first, token);
        }
    }
    std::sort(found.begin(), found.end());
    for (const auto& [first, token] : found) {
        while (starts_.size() <= static_cast<std::size_t>(first - kFirst)) {
            starts_.push_back(tokens_.size());
        }
        tokens_.push_back(token);
    }
    starts_.resize(kLast - kFirst + 2, tokens_.size());
}

std::span<const std::int32_t> InnerTokens::between(std::uint8_t first, std::uint8_t last) const {
    const auto from = starts_[static_cast<std::size_t>(first - kFirst)];
    const auto end = starts_[static_cast<std::size_t>(last - kFirst) + 1];
    return std::span(tokens_).subspan(from, end - from);
}

void WellFormed::said(std::string_view bytes) {
    if (!bytes.empty()) {
        const auto last = static_cast<std::uint8_t>(bytes.back());
        lead_ = last >= 0xC0 ? last : std::uint8_t{0};
    }
}

void WellFormed::mask(float* logits) const {
    for (const auto& forbidden : kForbidden) {
        if (lead_ == forbidden.lead) {
            for (const auto token : tokens_->between(forbidden.first, forbidden.last)) {
                logits[token] = -INFINITY;
            }
        }
    }
}

} // namespace sotto::llama
