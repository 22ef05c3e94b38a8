// Limits on a chat template's source, because llama.cpp's
// parser and the evaluation of its tree are recursive.
#pragma once

#include <cstddef>
#include <jinja/lexer.h>
#include <string>

namespace sotto::llama {

// Throws TemplateError if a template's source is too long.
void check_source(const std::string& source);

// Returns the number of different names in a template.
// Throws TemplateError if its parse tree would be too deep.
std::size_t check_tokens(const jinja::lexer_result& template_);

} // namespace sotto::llama
