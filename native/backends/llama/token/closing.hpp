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
// fence; a zero completes a number or an escape, and an angle bracket begins the marker after a call.
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

// What surrounds the JSON of an answer.
struct JsonFrame {
    std::vector<std::string> lead_in_end; // markers that end text before the JSON
    std::string lead_in_begin;            // of a call: marker that begins text before the JSON
    bool in_lead_in = false;              // of a call: the prompt ends inside that text
    bool is_call = false;                 // the JSON is in a tool call, whose markers surround it
    std::int32_t lead_in_end_token = -1;  // of a call: token that ends that text; -1: there is no such token
    std::uint64_t tail = 0;               // tokens of the markers after the JSON
    std::uint64_t skeleton = 0;           // of a call: tokens of its names and punctuation
};

// Tracks one answer that a grammar constrains to JSON.
class Closing {
public:
    // `limit`: maximum tokens of the answer.
    Closing(const ClosingTokens& tokens, std::uint64_t limit, JsonFrame frame);

    // Counts a generated token. `bytes`: its text, in which open strings and brackets are tracked.
    void said(std::string_view bytes);

    // Raises the logits of closing tokens once the tokens left before the limit may be needed to complete the
    // JSON.
    void press(float* logits);
    // Returns true if press() has raised logits so that the JSON ends before the answer's token limit: then
    // the limit ended the answer, not the model alone. A completed call counts as a call in any case.
    bool pressed() const noexcept { return pressed_ && !frame_.is_call; }

private:
    void begin(std::string_view bytes);
    void scan(std::string_view bytes);

    const ClosingTokens* tokens_;
    const std::uint64_t limit_;
    std::uint64_t left_;
    JsonFrame frame_;
    std::string lead_in_;
    bool begun_ = false;
    bool pressed_ = false;
    bool in_string_ = false;
    bool escaped_ = false;
    std::uint64_t depth_ = 0; // number of open brackets
    std::uint64_t spent_ = 0; // tokens of the current call
};

} // namespace sotto::llama
