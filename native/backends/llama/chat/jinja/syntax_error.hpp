// Describes syntax errors of chat templates.
#pragma once

#include <string>
#include <string_view>

namespace sotto::llama {

// Returns an error of llama.cpp's Jinja parser as one line, with its position in `source` if the error has
// one: "line 3, column 14: unexpected character: ~".
std::string describe_syntax_error(std::string_view error, std::string_view source);

} // namespace sotto::llama
