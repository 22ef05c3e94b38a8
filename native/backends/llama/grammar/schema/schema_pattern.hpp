// Parses regular expressions of JSON schemas.
#pragma once

#include "grammar/schema/schema_parts.hpp"

#include <vector>

namespace sotto::llama::pattern {

constexpr std::uint64_t kForever = UINT64_MAX;
constexpr std::uint64_t kMaxPatternTimes = 1000;

// A range of code points, both ends inclusive.
struct Range {
    std::uint32_t first;
    std::uint32_t last;
};
using Set = std::vector<Range>;

struct Node {
    enum class Kind { Set, Sequence, Choice, Repeat } kind = Kind::Sequence;
    Set set = {};
    std::vector<Node> parts = {};
    std::uint64_t least = 1;
    std::uint64_t most = 1;
};

// Parses a pattern. Throws if `text` is malformed or cannot be enforced by a grammar. An end without an
// anchor matches any text that `length` permits.
Node read(const std::string& text, const Length& length, const std::string& path);

// Returns the minimum and maximum length in code points of the texts that a pattern matches.
Length length_of(const Node& node);

} // namespace sotto::llama::pattern
