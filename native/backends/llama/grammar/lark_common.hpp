// Terminals of Lark's library `common`, which "%import common.NAME" defines.
#pragma once

#include <string>
#include <string_view>

namespace sotto::llama {

// Returns a regular expression (ECMAScript) of the texts that the terminal matches; null: unknown name.
const char* common_terminal(std::string_view name) noexcept;
// Returns the names, for errors.
std::string common_terminals();

} // namespace sotto::llama
