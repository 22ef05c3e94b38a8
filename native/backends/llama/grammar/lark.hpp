// Grammars in a subset of the syntax of Lark, a parser library for Python.
#pragma once

#include <string>

namespace sotto::llama {

// Returns the GBNF grammar of the texts that the rule `start` matches. `path` names the grammar in errors.
// Throws Error with line and column for malformed text, and for constructs that a grammar cannot enforce. The
// result may still be left-recursive or ambiguous: see check_grammar().
//
// Of terminals after %ignore, at most one may stand before the text and after each token.
std::string lark_grammar(const std::string& lark, const std::string& path);

} // namespace sotto::llama
