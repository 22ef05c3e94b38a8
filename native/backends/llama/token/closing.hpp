// Completes a JSON answer before its token limit.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sotto::llama {

// The tokens of a vocabulary that complete JSON, in order of preference: a quotation mark ends a string or
// starts a minimal value; brackets close what is open; a colon leads to a value; back quotes end a Markdown
// fence; a zero completes a number or an escape.
class ClosingTokens {
public:
    using Speller = std::function<void(std::int32_t token, std::string& bytes)>;

    ClosingTokens(std::int32_t count, const Speller& spell, std::span<const std::int32_t> ends);

    // Raises logits so that the most preferred token that the grammar allows is chosen.
    void prefer(float* logits) const;

private:
    static constexpr std::size_t kRanks = 4;

    std::vector<std::int32_t> ranks_[kRanks];
};

// Tracks one answer that a grammar constrains to JSON.
class Closing {
public:
    // `limit`: maximum tokens of the answer. `lead_in_end`: markers that end text before the JSON.
    Closing(const ClosingTokens& tokens, std::uint64_t limit, std::vector<std::string> lead_in_end);

    // Counts a generated token. `bytes`: its text, in which open strings and brackets are tracked.
    void said(std::string_view bytes);

    // Raises the logits of closing tokens once the tokens left before the limit may be needed to complete the
    // JSON.
    void press(float* logits);
    // Returns true if press() has raised logits so that the JSON ends before the answer's token limit: then
    // the limit ended the answer, not the model alone.
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
    std::uint64_t depth_ = 0; // number of open brackets
};

} // namespace sotto::llama
