// Redirects llama.cpp to this module's log and guards.
#pragma once

namespace sotto::llama {

// Installs callbacks in llama.cpp and ggml, once per process.
void take_over_llama_cpp();

} // namespace sotto::llama
