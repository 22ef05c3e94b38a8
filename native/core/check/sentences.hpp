// Splits a text into the passages that are compared with topics.
#pragma once

#include <string_view>
#include <vector>

namespace sotto {

constexpr std::size_t kMaxPassage = 512; // bytes

// Returns the sentences of well-formed UTF-8, and the whole text if it has several sentences and at most
// kMaxPassage bytes. A longer sentence is cut, between two words if possible. White space at the ends of a
// passage is removed; a text of white space has no passages.
std::vector<std::string_view> passages_of(std::string_view text);

} // namespace sotto
