// Log probabilities of tokens, held back until the text of the tokens is released.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto {

class HeldLogprobs {
public:
    // `keeps`: true if the request wants log probabilities.
    explicit HeldLogprobs(bool keeps) noexcept : keeps_(keeps) {}

    // Adds a token of `bytes` bytes. `json`: its log probabilities; may be empty.
    void add(std::size_t bytes, std::string_view json) {
        if (keeps_ && !json.empty()) {
            held_.push_back({generated_, std::string(json)});
        }
        generated_ += bytes;
    }

    // Removes and returns the log probabilities of tokens that begin before byte `shown`, in order.
    std::vector<std::string> release(std::size_t shown) {
        std::vector<std::string> all;
        auto one = held_.begin();
        for (; one != held_.end() && one->begin < shown; ++one) {
            all.push_back(std::move(one->json));
        }
        held_.erase(held_.begin(), one);
        return all;
    }

private:
    struct Logprobs {
        std::size_t begin; // byte offset of its token
        std::string json;
    };

    const bool keeps_;
    std::size_t generated_ = 0; // total bytes of the tokens added so far
    std::vector<Logprobs> held_;
};

} // namespace sotto
