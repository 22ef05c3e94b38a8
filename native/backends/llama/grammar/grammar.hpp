// Keeps grammars that a host wrote within bounds.
#pragma once

#include "runtime/fence.hpp"

#include <string>

struct llama_vocab;

namespace sotto::llama {

// Throws Error(SOTTO_ERROR_ARGUMENT) where a grammar does not parse, has no root, is left-recursive, refers
// to what is not there, or would take unbounded time or memory. Without a vocabulary a grammar may name
// tokens by their number alone. Takes no more than tens of milliseconds itself.
void check_grammar(const std::string& gbnf, const std::string& path, const llama_vocab* vocab = nullptr);

} // namespace sotto::llama
