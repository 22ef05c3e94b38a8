// Grammars of regular expressions.
#pragma once

#include <string>

namespace sotto::llama {

// Returns the GBNF grammar of the texts that a regular expression (ECMAScript syntax) matches as a whole.
// `path` names the expression in errors. Throws Error if it is malformed or cannot be enforced by a grammar.
std::string regex_grammar(const std::string& regex, const std::string& path);
// Returns the same as an expression of GBNF, for a part of a rule.
std::string regex_expression(const std::string& regex, const std::string& path);

} // namespace sotto::llama
