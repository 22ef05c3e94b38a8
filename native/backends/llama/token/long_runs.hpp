// Finds stretches of text that a regular expression matches in one go.
#pragma once

#include <cstddef>
#include <string_view>

namespace sotto::llama {

// How much of `text` may be given to llama.cpp's pre-tokenizers at once. Some are a std::regex, which goes
// down the stack for each character that a match has: about 300 bytes, so 30,000 letters end the process.
// All of it, but for text where one kind of character goes on for longer than any that people write.
std::size_t safe_length(std::string_view text);

} // namespace sotto::llama
