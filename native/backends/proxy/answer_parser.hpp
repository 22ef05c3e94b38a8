// Parses the raw text of a chat's answer into content, reasoning and tool calls.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sotto::proxy {

// The raw text is what guardrails and stop strings see. Control characters mark its parts, since a server
// sends the parts separately; text without a mark before it is content.
inline constexpr char kContentMark = '\x02';
inline constexpr char kReasoningMark = '\x03';
inline constexpr char kCallMark = '\x04'; // a delta of tool calls, which is kept aside

class AnswerParser {
public:
    // Adds the deltas of tool calls, a JSON array, for the next kCallMark.
    void add_calls(std::string calls) { calls_.push_back(std::move(calls)); }
    // Parses `text`, all raw text so far. Returns what is new in it, a JSON array of deltas; valid until the
    // next call.
    const std::string& parse(std::string_view text);

private:
    std::vector<std::string> calls_;
    std::size_t next_call_ = 0;
    std::size_t read_ = 0; // bytes of the text that were parsed
    char mark_ = kContentMark;
    std::string deltas_;
};

} // namespace sotto::proxy
