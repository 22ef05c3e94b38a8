// The memory of models, as the system gives and takes it: what ggml-backend.cpp calls in place of
// ggml_aligned_malloc() and ggml_aligned_free().
//
// Huge pages, which llama.cpp does not ask for: it reads all weights for every token, and looking up where
// small pages lie takes a good part of that time. And what is freed is the system's again at once: malloc
// keeps for itself what is smaller than 32 MiB, and whoever grants a game its memory would look for it.
#include <cstddef>
#include <cstdint>
#include <sys/mman.h>

namespace {

void advise(void* memory, std::size_t size, int advice) {
    constexpr std::uintptr_t kPage = 4096;
    const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kPage - 1) / kPage * kPage;
    const auto end = (reinterpret_cast<std::uintptr_t>(memory) + size) / kPage * kPage;
    madvise(reinterpret_cast<void*>(begin), end - begin, advice); // a wish: it does without as well
}

} // namespace

extern "C" {

void* ggml_aligned_malloc(std::size_t size);
void ggml_aligned_free(void* memory, std::size_t size);

void* sotto_aligned_malloc(std::size_t size) {
    constexpr std::size_t kLeast = 4 << 20;
    void* memory = ggml_aligned_malloc(size);
    if (memory != nullptr && size >= kLeast) {
        advise(memory, size, MADV_HUGEPAGE);
    }
    return memory;
}

void sotto_aligned_free(void* memory, std::size_t size) {
    constexpr std::size_t kLeast = 1 << 18;
    if (memory != nullptr && size >= kLeast) {
        advise(memory, size, MADV_DONTNEED);
        advise(memory, size, MADV_NOHUGEPAGE); // what malloc cuts from it is small
    }
    ggml_aligned_free(memory, size);
}
}
