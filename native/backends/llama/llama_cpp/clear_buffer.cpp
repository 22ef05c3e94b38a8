// Fills buffers of llama.cpp with zeros: llama-context.cpp and llama-kv-cache.cpp call this function instead
// of ggml_backend_buffer_clear().
//
// A new buffer consists of zero pages that take no memory until they are written: ggml_memory.cpp maps them.
// Writing zeros would take most of the time of a load, and the memory of logits that an embedding context
// never computes: 62 MB for 512 tokens of BERT. The pages are given back instead, also those of a buffer in
// use: they are zero when they are next read.
#include "clear_buffer.hpp"

#include <cstddef>
#include <cstdint>
#include <ggml-backend.h>

#if defined(__linux__)
#  include <sys/mman.h>
#endif

namespace {

bool drop_pages(ggml_backend_buffer_t buffer) noexcept {
#if defined(__linux__) && !defined(__ANDROID__)
    constexpr std::size_t kMapped = 1 << 16; // bytes; see ggml_memory.cpp
    const auto size = ggml_backend_buffer_get_size(buffer);
    if (ggml_backend_buffer_get_type(buffer) != ggml_backend_cpu_buffer_type() || size < kMapped) {
        return false;
    }
    return madvise(ggml_backend_buffer_get_base(buffer), size, MADV_DONTNEED) == 0;
#else
    (void)buffer;
    return false;
#endif
}

} // namespace

extern "C" void sotto_clear_buffer(ggml_backend_buffer_t buffer, std::uint8_t value) {
    if (value != 0 || !drop_pages(buffer)) {
        ggml_backend_buffer_clear(buffer, value);
    }
}
