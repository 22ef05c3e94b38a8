#include "store/segments.hpp"

#include <cstring>
#include <new>

#include "platform/pages.hpp"

namespace sotto::store {

Segments::~Segments() {
    for (auto& segment : segments_) {
        pages_free(segment.memory);
    }
}

void Segments::grow(std::uint64_t count) {
    if (count > borrowed_ && partly_borrowed_) {
        const std::size_t last = made_ - 1;
        const auto begin = capacity_ - (kFirst << last);
        allocate(last, at(static_cast<std::uint32_t>(begin)), (borrowed_ - begin) * stride_);
        borrowed_ = begin;
        partly_borrowed_ = false;
    }
    while (capacity_ < count) {
        if (made_ == kSegments) {
            throw std::bad_alloc();
        }
        allocate(made_, nullptr, 0);
        capacity_ += kFirst << made_++;
    }
}

void Segments::borrow(const std::byte* rows, std::uint64_t count) noexcept {
    borrowed_ = count;
    while (capacity_ < count) {
        const auto origin = reinterpret_cast<std::uintptr_t>(rows) - kFirst * stride_;
        segments_[made_].origin.store(origin, std::memory_order_relaxed);
        capacity_ += kFirst << made_++;
    }
    partly_borrowed_ = capacity_ > count;
}

void Segments::allocate(std::size_t index, const std::byte* old, std::size_t old_bytes) {
    auto& segment = segments_[index];
    segment.memory = pages_allocate((kFirst << index) * stride_ + kAlign);
    if (segment.memory == nullptr) {
        throw std::bad_alloc();
    }
    constexpr std::size_t kMinLarge = std::size_t{8} << 20; // smaller segments would waste most of a page
    if (const std::size_t size = (kFirst << index) * stride_; size >= kMinLarge) {
        pages_prefer_large(segment.memory, size);
    }
    const auto address = (reinterpret_cast<std::uintptr_t>(segment.memory) + kAlign - 1) / kAlign * kAlign;
    if (old_bytes > 0) {
        std::memcpy(reinterpret_cast<void*>(address), old, old_bytes);
    }
    segment.origin.store(address - (kFirst << index) * stride_, std::memory_order_release);
}

} // namespace sotto::store
