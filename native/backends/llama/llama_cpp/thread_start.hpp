// Reports that a thread for graphs could not be started.
#pragma once

#include <system_error>

namespace sotto::llama {

// Throws Error(SOTTO_ERROR_MEMORY) with the system's message and a hint.
[[noreturn]] void refuse_thread(const std::error_code& failed);

} // namespace sotto::llama
