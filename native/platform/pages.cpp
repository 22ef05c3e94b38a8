#include "platform/pages.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>

namespace sotto {
namespace {

constexpr std::size_t kMinMapped = 16 * 1024; // smaller blocks would waste most of a page and a mapping
constexpr std::size_t kPage = 4096;

// Header in front of each block that pages_allocate() returns.
struct alignas(std::max_align_t) Header {
    std::size_t size = 0;   // size of the bytes
    std::size_t mapped = 0; // size of the mapping, including the header; 0: from malloc()
};

Header* header_of(void* memory) noexcept {
    return static_cast<Header*>(memory) - 1;
}

void* begin(void* memory, std::size_t size, std::size_t mapped) noexcept {
    return memory == nullptr ? nullptr : new (memory) Header{size, mapped} + 1;
}

std::size_t whole_pages(std::size_t size) noexcept {
    return (size + sizeof(Header) + kPage - 1) / kPage * kPage;
}

} // namespace

void* pages_allocate(std::size_t size) noexcept {
    if (size > SIZE_MAX / 2) {
        return nullptr;
    }
    if (size < kMinMapped) {
        return begin(std::malloc(size + sizeof(Header)), size, 0);
    }
    return begin(page_system::map(whole_pages(size)), size, whole_pages(size));
}

void* pages_resize(void* memory, std::size_t size) noexcept {
    if (memory == nullptr || size > SIZE_MAX / 2) {
        return memory == nullptr ? pages_allocate(size) : nullptr;
    }
    Header* header = header_of(memory);
    if (header->mapped > 0 && size >= kMinMapped) {
        const auto mapped = whole_pages(size);
        void* now = mapped == header->mapped ? header : page_system::remap(header, header->mapped, mapped);
        return begin(now, size, mapped);
    }
    void* fresh = pages_allocate(size);
    if (fresh != nullptr) {
        std::memcpy(fresh, memory, std::min(header->size, size));
        pages_free(memory);
    }
    return fresh;
}

void pages_free(void* memory) noexcept {
    if (memory == nullptr) {
        return;
    }
    Header* header = header_of(memory);
    if (header->mapped > 0) {
        page_system::unmap(header, header->mapped);
    } else {
        std::free(header);
    }
}

void pages_prefer_large(void* memory, std::size_t size) noexcept {
    const auto begin = (reinterpret_cast<std::uintptr_t>(memory) + kPage - 1) / kPage * kPage;
    const auto end = (reinterpret_cast<std::uintptr_t>(memory) + size) / kPage * kPage;
    if (begin < end) {
        page_system::prefer_large(reinterpret_cast<void*>(begin), end - begin);
    }
}

void PageBuffer::reserve(std::size_t capacity) {
    if (capacity > capacity_) {
        void* memory = pages_resize(data_, capacity);
        if (memory == nullptr) {
            throw std::bad_alloc();
        }
        data_ = static_cast<char*>(memory);
        capacity_ = capacity;
    }
}

void PageBuffer::resize(std::size_t size) {
    reserve(size);
    size_ = size;
}

// Doubles the capacity if `bytes` do not fit. Doubling is cheap: reserved pages use no memory until they are
// written.
void PageBuffer::append(std::string_view bytes) {
    if (bytes.size() > SIZE_MAX / 4 - size_) {
        throw std::bad_alloc();
    }
    if (bytes.size() > capacity_ - size_) {
        reserve(std::max(size_ + bytes.size(), 2 * capacity_));
    }
    if (!bytes.empty()) {
        std::memcpy(data_ + size_, bytes.data(), bytes.size());
        size_ += bytes.size();
    }
}

void PageBuffer::fit() noexcept {
    if (size_ < capacity_ && size_ > 0) {
        if (void* memory = pages_resize(data_, size_)) {
            data_ = static_cast<char*>(memory);
            capacity_ = size_;
        }
    }
}

} // namespace sotto
