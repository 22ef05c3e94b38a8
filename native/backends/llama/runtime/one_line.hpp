// Makes anything fit for an error or a log line.
#pragma once

#include <string>
#include <string_view>

namespace sotto::llama {

// One line of valid UTF-8, not overlong: control characters become spaces, foreign bytes question marks.
std::string one_line(std::string_view text);

} // namespace sotto::llama
