// Replaces operator new and delete in the library and in each module, which link the C++ library statically.
// Large blocks are mapped from the system and unmapped when freed. malloc() would keep freed memory: once a
// block of some 100 kB is freed, malloc() serves such sizes from its arenas, and lets each arena keep twice
// as much (M_MMAP_THRESHOLD in mallopt(3)).
//
// The C++ library's new[], delete[] and the other forms call the operators replaced here.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace {

constexpr std::size_t kMinMapped = 64 * 1024;
constexpr std::uintptr_t kPage = 4096; // the smallest page size of all supported systems

// Table entry of a mapped block. Lock-free: a block may be deleted on any thread, also in a child after
// fork().
struct Piece {
    std::atomic<void*> memory{nullptr}; // nullptr: the entry is free
    std::size_t size = 0;
};

constexpr std::size_t kPlaces = 4096; // maximum number of mapped blocks; further blocks come from malloc()
constexpr std::size_t kTries = 32;    // entries probed for a block
std::array<Piece, kPlaces> g_pieces;

// Returns the i-th table entry to probe for a block, by Fibonacci hashing.
Piece& place(const void* memory, std::size_t i) noexcept {
    const std::uint64_t page = reinterpret_cast<std::uintptr_t>(memory) / kPage;
    return g_pieces[(page * 0x9E3779B97F4A7C15 / (UINT64_MAX / kPlaces + 1) + i) % kPlaces];
}

bool add(void* memory, std::size_t size) noexcept {
    for (std::size_t i = 0; i < kTries; ++i) {
        auto& piece = place(memory, i);
        void* none = nullptr;
        if (piece.memory.compare_exchange_strong(none, memory, std::memory_order_acq_rel)) {
            piece.size = size;
            return true;
        }
    }
    return false;
}

// Removes a block from the table and returns its size; 0: the block is from malloc().
std::size_t remove(const void* memory) noexcept {
    if (memory == nullptr || reinterpret_cast<std::uintptr_t>(memory) % kPage != 0) {
        return 0;
    }
    for (std::size_t i = 0; i < kTries; ++i) {
        auto& piece = place(memory, i);
        if (piece.memory.load(std::memory_order_relaxed) == memory) {
            const auto size = piece.size;
            piece.memory.store(nullptr, std::memory_order_release);
            return size;
        }
    }
    return 0;
}

void* map(std::size_t size) noexcept {
    void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        return nullptr;
    }
    if (!add(memory, size)) {
        munmap(memory, size);
        return nullptr;
    }
    return memory;
}

void* allocate(std::size_t size) noexcept {
    void* memory = size < kMinMapped ? nullptr : map(size);
    return memory == nullptr ? std::malloc(size > 0 ? size : 1) : memory;
}

} // namespace

void* operator new(std::size_t size) {
    for (;;) {
        if (void* memory = allocate(size)) {
            return memory;
        }
        const auto handler = std::get_new_handler();
        if (handler == nullptr) {
            throw std::bad_alloc();
        }
        handler();
    }
}

void operator delete(void* memory) noexcept {
    if (const auto size = remove(memory); size > 0) {
        munmap(memory, size);
    } else {
        std::free(memory);
    }
}

void operator delete(void* memory, std::size_t) noexcept {
    operator delete(memory);
}
