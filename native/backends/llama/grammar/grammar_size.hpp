// Predicts the size of a grammar after llama.cpp has expanded its repetitions.
#pragma once

#include <string>

namespace sotto::llama {

// Throws Error(SOTTO_ERROR_ARGUMENT) if a grammar is too large, or nested too deeply to be parsed.
void check_grammar_size(const std::string& gbnf, const std::string& path);

// Returns the line number, from 1, of the byte at `at`.
std::size_t line_of(const std::string& text, std::size_t at);

} // namespace sotto::llama
