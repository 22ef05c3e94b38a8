// The memory of models, as the system gives and takes it: what ggml-backend.cpp calls in place of
// ggml_aligned_malloc() and ggml_aligned_free().
//
// Huge pages, which llama.cpp does not ask for: it reads all weights for every token, and looking up where
// small pages lie takes a good part of that time. And what is freed is the system's again at once: malloc
// keeps for itself what is smaller than 32 MiB, with holes that nothing else fits into, and whoever grants a
// game its memory would look for it.
#include <cstddef>
#include <sys/mman.h>

namespace {

constexpr std::size_t kMinMapped = 1 << 18; // both functions are told the same size
constexpr std::size_t kMinHuge = 4 << 20;

} // namespace

extern "C" {

void* ggml_aligned_malloc(std::size_t size);
void ggml_aligned_free(void* memory, std::size_t size);

void* sotto_aligned_malloc(std::size_t size) {
    if (size < kMinMapped) {
        return ggml_aligned_malloc(size);
    }
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    if (size >= kMinHuge) {
        madvise(memory, size, MADV_HUGEPAGE); // a wish: it does without as well
    }
    return memory;
}

void sotto_aligned_free(void* memory, std::size_t size) {
    if (size < kMinMapped) {
        ggml_aligned_free(memory, size);
    } else if (memory != nullptr) {
        munmap(memory, size);
    }
}
}
