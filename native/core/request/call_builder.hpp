// Builds tool calls from the output of a model's parser.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/codec/codec.hpp"
#include "text/json_reader.hpp"

namespace sotto {

// Returns the string at `key`; empty if missing or not a string.
std::string text_at(const Json& object, const char* key);

// The tool calls of one answer. Calls arrive one after another: a new call ends the previous one,
// and only the last one can continue.
class CallBuilder {
public:
    // Adds a call, or more of its arguments: an element of "tool_calls" as returned by sotto_stream_parse_fn.
    // Appends new deltas to `increment`; if a new call begins, ends the previous one: see close().
    void add(const Json& call, AnswerIncrement& increment, std::vector<Call>& whole);
    // Ends the last call: appends it to `whole` if its arguments are a complete
    // JSON object, otherwise drops it.
    void close(AnswerIncrement& increment, std::vector<Call>& whole);

private:
    std::size_t calls_ = 0;    // calls that began, incomplete ones included
    std::optional<Call> call_; // the last call, until it ends
};

} // namespace sotto
