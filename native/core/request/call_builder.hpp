// Puts tool calls together from what a model's reader returns.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/codec/codec.hpp"
#include "text/json_reader.hpp"

namespace sotto {

// The text at `key`; empty if there is none.
std::string text_at(const Json& object, const char* key);

// The tool calls of one answer. They come one after the other: a new one ends the one before, and only the
// last one goes on.
class CallBuilder {
public:
    // Takes in a call, or more of its arguments: an element of "tool_calls" as sotto_stream_parse_fn has it.
    // Adds to `heard` what is new, and to `whole` a call that has ended thereby.
    void add(const Json& call, Heard& heard, std::vector<Call>& whole);
    // Nothing more comes of the last call. One whose arguments broke off is no call.
    void close(Heard& heard, std::vector<Call>& whole);

private:
    std::size_t calls_ = 0;    // that began, also those that broke off
    std::optional<Call> call_; // the last of them, while more may come of it
};

} // namespace sotto
