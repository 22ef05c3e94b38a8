// Huge pages for the weights and memories of models, which llama.cpp does not ask for: it reads all weights
// for every token, and looking up where small pages lie takes a good part of that time. Linked by --wrap.
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

extern "C" {

void* __real_ggml_aligned_malloc(std::size_t size); // NOLINT: the linker's name

void* __wrap_ggml_aligned_malloc(std::size_t size) { // NOLINT: the linker's name
    constexpr std::size_t kLeast = 4 << 20;
    constexpr std::uintptr_t kPage = 4096;
    void* memory = __real_ggml_aligned_malloc(size);
    if (memory != nullptr && size >= kLeast) {
        const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kPage - 1) / kPage * kPage;
        const auto end = (reinterpret_cast<std::uintptr_t>(memory) + size) / kPage * kPage;
        madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE); // a wish: small ones do as well
    }
    return memory;
}
}
