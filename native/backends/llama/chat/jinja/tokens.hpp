// What a chat template may look like: llama.cpp's parser recurses, and so does what it makes.
#pragma once

#include <cstddef>
#include <jinja/lexer.h>
#include <string>

namespace sotto::llama {

// Throws TemplateError where a template is too long to be read.
void check_source(const std::string& source);

// How many names the tokens of a template have. Throws TemplateError where its parse tree would be too deep.
std::size_t check_tokens(const jinja::lexer_result& template_);

} // namespace sotto::llama
