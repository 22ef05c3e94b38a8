// In how many ways llama.cpp has to read an answer under a grammar.
#pragma once

#include <cstddef>
#include <optional>

#include <llama-grammar.h>

namespace sotto::llama {

// The rule in which there are too many, or nothing.
std::optional<std::size_t> too_many_ways(const llama_grammar_rules& rules, std::size_t root);

} // namespace sotto::llama
