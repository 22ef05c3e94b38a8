// Splits text so that regular expressions cannot overflow the stack.
#pragma once

#include <cstddef>
#include <string_view>

namespace sotto::llama {

// Returns how many bytes of `text` may be passed to llama.cpp's pre-tokenizers at once. Some of these use
// std::regex, which recurses for each matched character with about 300 bytes of stack: 30,000 letters crash
// the process. Returns the whole size unless one kind of character repeats longer than in natural text.
std::size_t safe_length(std::string_view text);

} // namespace sotto::llama
