// Measures the ambiguity of a grammar: the number of parses that llama.cpp tracks.
#pragma once

#include <cstddef>
#include <optional>

#include <llama-grammar.h>

namespace sotto::llama {

// Returns the index of a rule that is too ambiguous; nothing: no rule is.
std::optional<std::size_t> too_many_ways(const llama_grammar_rules& rules, std::size_t root);

} // namespace sotto::llama
