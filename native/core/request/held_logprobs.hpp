// Log probabilities of tokens, held back until their text is shown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto {

// The log probabilities of one answer.
class HeldLogprobs {
public:
    // `keeps`: false if nobody asked for them.
    explicit HeldLogprobs(bool keeps) noexcept : keeps_(keeps) {}

    // Takes in a token of so many bytes, with its log probabilities as JSON, or empty.
    void add(std::size_t bytes, std::string_view json) {
        if (keeps_ && !json.empty()) {
            held_.push_back({generated_, std::string(json)});
        }
        generated_ += bytes;
    }

    // Removes and returns those of the tokens that begin before byte `shown`, in their order.
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
        std::size_t begin; // of its token, in the bytes generated
        std::string json;
    };

    const bool keeps_;
    std::size_t generated_ = 0; // bytes
    std::vector<Logprobs> held_;
};

} // namespace sotto
