// Memory for large buffers that come and go: from the system, and back to it when they are freed. malloc()
// keeps what is freed for itself (glibc: up to 32 MiB in one piece, in every thread's arena).
#pragma once

#include <cstddef>
#include <limits>
#include <new>
#include <string>
#include <string_view>
#include <utility>

namespace sotto {

// As malloc(), realloc() and free(). What is small comes from those.
void* pages_allocate(std::size_t size) noexcept;
void* pages_resize(void* memory, std::size_t size) noexcept; // null: `memory` is as it was
void pages_free(void* memory) noexcept;

// For containers with such memory.
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

// Bytes in such memory.
class PageBuffer {
public:
    PageBuffer() noexcept = default;
    // Throws std::bad_alloc, like resize() and append(). The bytes are undefined until they are written.
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
    // Bytes that are added are undefined until they are written.
    void resize(std::size_t size);
    void append(std::string_view bytes);
    // Gives back what is reserved beyond size().
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

// Of each system, for pages.cpp: whole pages, zeroed. Null if there is no memory.
namespace page_system {

void* map(std::size_t size) noexcept;
// Null if it cannot: `memory` is as it was.
void* remap(void* memory, std::size_t old_size, std::size_t size) noexcept;
void unmap(void* memory, std::size_t size) noexcept;

} // namespace page_system
} // namespace sotto
