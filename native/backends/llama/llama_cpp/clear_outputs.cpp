// Clears the output buffer of a llama_context. llama-context.cpp calls this function instead of
// ggml_backend_buffer_clear().
//
// The buffer has room for the logits of all tokens of a batch, also in an embedding context, which computes
// none: 62 MB for 512 tokens of BERT. ggml_memory.cpp maps new pages for a buffer of this size, which are
// zero, and which take no memory until they are written.
#include "clear_outputs.hpp"

#include <cstddef>
#include <cstdint>
#include <ggml-backend.h>

extern "C" void sotto_clear_outputs(ggml_backend_buffer_t buffer, std::uint8_t value) {
    constexpr std::size_t kMapped = 1 << 16; // bytes; see ggml_memory.cpp
    const bool on_cpu = ggml_backend_buffer_get_type(buffer) == ggml_backend_cpu_buffer_type();
    const bool zero = on_cpu && value == 0 && ggml_backend_buffer_get_size(buffer) >= kMapped;
    if (!sotto::llama::kClearsLazily || !zero) {
        ggml_backend_buffer_clear(buffer, value);
    }
}
