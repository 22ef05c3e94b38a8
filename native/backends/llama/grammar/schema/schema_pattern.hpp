// A regular expression, read.
#pragma once

#include "grammar/schema/schema_parts.hpp"

#include <vector>

namespace sotto::llama::pattern {

constexpr std::uint64_t kForever = UINT64_MAX;
constexpr std::uint64_t kMostPatternTimes = 1000;

// Code points.
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

// Throws where `text` is no pattern, or one that a grammar cannot hold to. Where it is not tied to an end,
// anything may stand there that the length has room for.
Node read(const std::string& text, const Length& length, const std::string& path);

// The least and greatest length of the texts that a pattern matches, in characters.
Length length_of(const Node& node);

} // namespace sotto::llama::pattern
