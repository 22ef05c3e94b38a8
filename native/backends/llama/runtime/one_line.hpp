// Sanitizes text for error messages and log lines.
#pragma once

#include <string>
#include <string_view>

namespace sotto::llama {

// Returns one line of valid UTF-8 of limited length: control characters become spaces, ill-formed bytes
// question marks.
std::string one_line(std::string_view text);

} // namespace sotto::llama
