// Allocates the memory of models. ggml-backend.cpp calls these functions instead of ggml_aligned_malloc(),
// malloc(), calloc(), realloc() and the functions that free.
//
// Uses huge pages, which llama.cpp does not request: all weights are read for every token, and address
// translation of small pages takes a considerable part of the time per token. Freed memory returns to the
// system at once, so that the game can use it: malloc keeps blocks below 32 MiB, with fragmentation. Also,
// ggml's scheduler writes only a part of its 20 MB of tables: mapped pages that are never written take no
// memory, but malloc() may return pages that are already in use.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <sys/mman.h>

namespace {

constexpr std::size_t kMinMapped = 1 << 16; // blocks from this size on are mapped, and unmapped when freed
constexpr std::size_t kMinHuge = 4 << 20;

void* map(std::size_t size) noexcept {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
}

// Precedes the memory that sotto_malloc() and sotto_calloc() return.
struct alignas(std::max_align_t) Header {
    std::size_t size; // of the block, including the header
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
        madvise(memory, size, MADV_HUGEPAGE); // a hint, whose failure does not matter
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
        throw std::bad_alloc(); // ggml-backend.cpp does not check for NULL before it writes
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
