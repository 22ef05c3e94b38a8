// Reports about tokens, held back until the text of the tokens is released.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/codec/codec.hpp"

namespace sotto {

class HeldTokens {
public:
    // `keeps`: true if the request wants reports about its tokens.
    explicit HeldTokens(bool keeps) noexcept : keeps_(keeps) {}

    // Adds a token of `bytes` bytes. `id`: -1 if unknown. `logprobs`: JSON; may be empty.
    void add(std::size_t bytes, std::int32_t id, std::string_view logprobs) {
        if (keeps_) {
            held_.push_back({generated_, generated_ + bytes, {id, std::string(logprobs)}});
        }
        generated_ += bytes;
    }

    // Removes and returns the reports of tokens that begin before byte `shown`, in order; with `whole`, of
    // tokens that end at or before it.
    std::vector<TokenReport> release(std::size_t shown, bool whole = false) {
        std::vector<TokenReport> all;
        auto one = held_.begin();
        for (; one != held_.end() && (whole ? one->end <= shown : one->begin < shown); ++one) {
            all.push_back(std::move(one->report));
        }
        held_.erase(held_.begin(), one);
        return all;
    }

private:
    struct Token {
        std::size_t begin; // byte offsets of its text
        std::size_t end;
        TokenReport report;
    };

    const bool keeps_;
    std::size_t generated_ = 0; // total bytes of the tokens added so far
    std::vector<Token> held_;
};

} // namespace sotto
