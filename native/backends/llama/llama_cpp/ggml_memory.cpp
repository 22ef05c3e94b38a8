// The memory of models, as the system gives and takes it: what ggml-backend.cpp calls in place of
// ggml_aligned_malloc(), malloc() and what goes with them.
//
// Huge pages, which llama.cpp does not ask for: it reads all weights for every token, and looking up where
// small pages lie takes a good part of that time. And what is freed is the system's again at once: malloc
// keeps for itself what is smaller than 32 MiB, with holes that nothing else fits into, and whoever grants a
// game its memory would look for it. Of its tables for 20 MB a scheduler writes a part; taken from malloc,
// they come to lie on pages that others have written to.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace {

constexpr std::size_t kMinMapped = 1 << 16; // also where a function is told the same size again
constexpr std::size_t kMinHuge = 4 << 20;

void* map(std::size_t size) noexcept {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

// Stands before what sotto_malloc() and sotto_calloc() return.
struct alignas(std::max_align_t) Header {
    std::size_t size; // of both
};

bool is_mapped(const Header& header) noexcept {
    return header.size >= kMinMapped;
}

} // namespace

extern "C" {

void* ggml_aligned_malloc(std::size_t size);
void ggml_aligned_free(void* memory, std::size_t size);

void* sotto_aligned_malloc(std::size_t size) {
    if (size < kMinMapped) {
        return ggml_aligned_malloc(size);
    }
    void* memory = map(size);
    if (memory != nullptr && size >= kMinHuge) {
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

void* sotto_calloc(std::size_t count, std::size_t size) {
    std::size_t whole = 0;
    const bool fits = !__builtin_mul_overflow(count, size, &whole) &&
                      !__builtin_add_overflow(whole, sizeof(Header), &whole);
    void* memory = !fits ? nullptr : whole < kMinMapped ? std::calloc(1, whole) : map(whole);
    if (memory == nullptr) {
        throw std::bad_alloc(); // ggml-backend.cpp would write to it all the same
    }
    return new (memory) Header{whole} + 1;
}

void* sotto_malloc(std::size_t size) {
    return sotto_calloc(1, size);
}

void sotto_free(void* memory) {
    if (memory == nullptr) {
        return;
    }
    Header* header = static_cast<Header*>(memory) - 1;
    if (is_mapped(*header)) {
        munmap(header, header->size);
    } else {
        std::free(header);
    }
}

void* sotto_realloc(void* memory, std::size_t size) {
    void* fresh = sotto_malloc(size);
    if (memory != nullptr) {
        const auto* header = static_cast<Header*>(memory) - 1;
        std::memcpy(fresh, memory, std::min(header->size - sizeof(Header), size));
        sotto_free(memory);
    }
    return fresh;
}
}
