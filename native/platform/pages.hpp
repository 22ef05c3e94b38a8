// Memory for large temporary buffers: mapped from the system and unmapped when freed. malloc() would keep
// freed memory (glibc: up to 32 MiB per block, in every thread's arena).
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace sotto {

// Like malloc(), realloc() and free(). Small blocks come from malloc().
void* pages_allocate(std::size_t size) noexcept;
void* pages_resize(void* memory, std::size_t size) noexcept; // null: `memory` is unchanged
void pages_free(void* memory) noexcept;
// Asks the system to back a range with large pages, which makes reads at random addresses faster. Touching
// one byte may then take 2 MiB. May do nothing.
void pages_prefer_large(void* memory, std::size_t size) noexcept;

// Allocator for containers whose memory comes from pages_allocate().
template <typename T>
struct PageAllocator {
    using value_type = T;

    PageAllocator() noexcept = default;
    template <typename U>
    PageAllocator(const PageAllocator<U>&) noexcept {}

    T* allocate(std::size_t count) {
        const bool fits = count <= std::numeric_limits<std::size_t>::max() / sizeof(T);
        if (void* memory = fits ? pages_allocate(count * sizeof(T)) : nullptr) {
            return static_cast<T*>(memory);
        }
        throw std::bad_alloc();
    }
    void deallocate(T* memory, std::size_t) noexcept { pages_free(memory); }

    friend bool operator==(const PageAllocator&, const PageAllocator&) noexcept { return true; }
};

using PageString = std::basic_string<char, std::char_traits<char>, PageAllocator<char>>;

// A growing byte buffer whose memory comes from pages_allocate().
class PageBuffer {
public:
    PageBuffer() noexcept = default;
    // Throws std::bad_alloc, like resize() and append(). New bytes are uninitialised.
    explicit PageBuffer(std::size_t size) { resize(size); }
    explicit PageBuffer(std::string_view bytes) { append(bytes); }
    ~PageBuffer() { pages_free(data_); }
    PageBuffer(PageBuffer&& other) noexcept { swap(other); }
    PageBuffer& operator=(PageBuffer&& other) noexcept {
        swap(other);
        return *this;
    }

    char* data() noexcept { return data_; }
    std::size_t size() const noexcept { return size_; }
    std::string_view view() const noexcept { return {data_, size_}; }

    void reserve(std::size_t capacity);
    // Added bytes are uninitialised.
    void resize(std::size_t size);
    void append(std::string_view bytes);
    // Frees the capacity beyond size().
    void fit() noexcept;

private:
    void swap(PageBuffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

    char* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

// Operations that pages_linux.cpp and pages_windows.cpp implement for pages.cpp. map() returns zeroed whole
// pages, or null if the system has no memory left.
namespace page_system {

void* map(std::size_t size) noexcept;
// Returns null on failure; `memory` is then unchanged.
void* remap(void* memory, std::size_t old_size, std::size_t size) noexcept;
void unmap(void* memory, std::size_t size) noexcept;
void prefer_large(void* memory, std::size_t size) noexcept; // whole pages

} // namespace page_system
} // namespace sotto
