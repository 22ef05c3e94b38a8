// Threads of graphs that cannot be started.
#pragma once

#include <system_error>

namespace sotto::llama {

// Throws Error(SOTTO_ERROR_MEMORY), which says what the system said and what helps.
[[noreturn]] void refuse_thread(const std::error_code& failed);

} // namespace sotto::llama
