// operator new and delete of the library and of each module, in place of the C++ library's, which is part of
// them: large memory is the system's, and back with it when it is freed. malloc() keeps it, above all once
// something of some 100 kB was freed: it then takes from its arenas what it had mapped before, and lets each
// of them keep twice as much (M_MMAP_THRESHOLD in mallopt(3)).
//
// new[], delete[] and the others are the C++ library's, which call these.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

namespace {

constexpr std::size_t kMinMapped = 64 * 1024;
constexpr std::uintptr_t kPage = 4096; // no system has smaller ones

// A large piece of memory. Who has one may delete it on any thread, also in a child of fork(): no locks.
struct Piece {
    std::atomic<void*> memory{nullptr}; // nullptr: the place is free
    std::size_t size = 0;
};

constexpr std::size_t kPlaces = 4096; // of large pieces at a time; further ones are malloc()'s
constexpr std::size_t kTries = 32;    // places that a piece may be at
std::array<Piece, kPlaces> g_pieces;

// By Fibonacci hashing.
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

// Takes a piece from the table and returns its size; 0: the memory is malloc()'s.
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
