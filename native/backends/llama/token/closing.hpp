// Ends an answer in JSON before its tokens run out.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::llama {

// The tokens of a vocabulary that bring JSON to its end, in the order in which they are preferred: a
// quotation mark ends a string, or stands for a whole value; brackets end what is open; a colon leads to a
// value, back quotes end a Markdown fence; a zero completes a number or an escape.
class ClosingTokens {
public:
    using Speller = std::function<void(std::int32_t token, std::string& bytes)>;

    ClosingTokens(std::int32_t count, const Speller& spell, std::span<const std::int32_t> ends);

    // Adds to the logits so much that a preferred token is chosen wherever a grammar allows it.
    void prefer(float* logits) const;

private:
    static constexpr std::size_t kRanks = 4;

    std::vector<std::int32_t> ranks_[kRanks];
};

// Follows one answer that a grammar holds to JSON.
class Closing {
public:
    // `limit`: tokens of the answer, at most. `lead_in_end`: where text comes before the JSON, what ends that
    // text.
    Closing(const ClosingTokens& tokens, std::uint64_t limit, std::vector<std::string> lead_in_end);

    // Counts a token, with its bytes.
    void said(std::string_view bytes);

    // Prefers what leads to the end, if only so many tokens are left as that may take.
    void press(float* logits);
    // Whether it did: the limit, and not the model alone, ended the answer.
    bool pressed() const noexcept { return pressed_; }

private:
    void begin(std::string_view bytes);
    void scan(std::string_view bytes);

    const ClosingTokens* tokens_;
    std::uint64_t left_;
    std::vector<std::string> lead_in_end_;
    std::string lead_in_;
    bool begun_ = false;
    bool pressed_ = false;
    bool in_string_ = false;
    bool escaped_ = false;
    std::uint64_t depth_ = 0; // brackets that are open
};

} // namespace sotto::llama
