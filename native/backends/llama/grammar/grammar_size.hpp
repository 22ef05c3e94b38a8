// How large a grammar becomes when llama.cpp writes its repetitions out, told before it does.
#pragma once

#include <string>

namespace sotto::llama {

// Throws Error(SOTTO_ERROR_ARGUMENT) where a grammar is too large, or nested too deeply to be parsed.
void check_grammar_size(const std::string& gbnf, const std::string& path);

// The line that the byte at `at` is on, from 1.
std::size_t line_of(const std::string& text, std::size_t at);

} // namespace sotto::llama
