// Validates grammars that a host wrote, and limits their size and ambiguity.
#pragma once

#include "runtime/fence.hpp"

#include <string>

struct llama_vocab;

namespace sotto::llama {

// Throws Error(SOTTO_ERROR_ARGUMENT) if a grammar does not parse, has no root, is left-recursive, refers to
// an undefined rule, or would take unbounded time or memory. Without a vocabulary, a grammar can refer to
// tokens by number only. Takes at most tens of milliseconds.
void check_grammar(const std::string& gbnf, const std::string& path, const llama_vocab* vocab = nullptr);

} // namespace sotto::llama
