// Grammars of regular expressions.
#pragma once

#include <string>

namespace sotto::llama {

// Returns the GBNF grammar of the texts that a regular expression (ECMAScript syntax) matches as a whole.
// `path` names the expression in errors. Throws Error if it is malformed or cannot be enforced by a grammar.
std::string regex_grammar(const std::string& regex, const std::string& path);

} // namespace sotto::llama
