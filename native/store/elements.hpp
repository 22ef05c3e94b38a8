// The elements of an index: encoded vectors, labels and links, in arrays that other threads read while they
// grow.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "store/segments.hpp"
#include "store/vector_kernels.hpp"

namespace sotto::store {

using ElementId = std::uint32_t;

constexpr ElementId kNoElement = std::numeric_limits<ElementId>::max();
constexpr std::uint32_t kMaxElements = std::uint32_t{1} << 30;
constexpr unsigned kMaxLevel = 15;

// Links to neighbours in one layer. The first kNoElement ends them.
class Links {
public:
    Links(std::byte* slots, std::uint32_t capacity) noexcept
        : slots_(reinterpret_cast<ElementId*>(slots)), capacity_(capacity) {}

    std::uint32_t capacity() const noexcept { return capacity_; }
    const void* address() const noexcept { return slots_; }

    // What another thread wrote about an element before it set the link is visible after get().
    ElementId get(std::uint32_t slot) const noexcept {
        return __atomic_load_n(slots_ + slot, __ATOMIC_ACQUIRE);
    }
    void set(std::uint32_t slot, ElementId id) const noexcept {
        __atomic_store_n(slots_ + slot, id, __ATOMIC_RELEASE);
    }
    std::uint32_t count() const noexcept {
        std::uint32_t found = 0;
        while (found < capacity_ && get(found) != kNoElement) {
            ++found;
        }
        return found;
    }
    // Readers may see some of the old links beside some of the new ones.
    void assign(std::span<const ElementId> ids) const noexcept;

private:
    ElementId* slots_;
    std::uint32_t capacity_;
};

// What an index knows of an element besides its vector and its lowest links.
struct Record {
    std::uint64_t label = 0;
    std::uint32_t upper = 0; // row of the links in layer 1
    std::uint8_t level = 0;  // highest layer
    std::atomic<std::uint8_t> removed{0};
    std::atomic<std::uint8_t> locked{0}; // by a thread that changes the links
};

class Elements {
public:
    // Throws Error(SOTTO_ERROR_ARGUMENT) for an option out of range.
    explicit Elements(const IndexOptions& options);

    const VectorCodec& codec() const noexcept { return codec_; }
    std::uint32_t m() const noexcept { return m_; }
    // Elements, removed ones included. All ids below are valid.
    std::uint32_t count() const noexcept { return count_.load(std::memory_order_acquire); }

    // Makes room for more elements. Throws std::bad_alloc, Error(SOTTO_ERROR_BUSY) above kMaxElements.
    void reserve(std::size_t more);
    // Adds an element without links. Its level depends on the seed and its id. Throws like reserve().
    ElementId append(std::span<const float> normalised, std::uint64_t label);
    // Makes the elements of a file. The caller fills in records and links, and, unless they stay in
    // `vectors`, the vectors.
    void adopt(const std::byte* vectors, std::uint32_t count);
    void set_level(ElementId id, unsigned level); // allocates the links of its layers, without links

    std::byte* vector(ElementId id) const noexcept { return vectors_.at(id); }
    Record& record(ElementId id) const noexcept { return *reinterpret_cast<Record*>(records_.at(id)); }
    bool is_removed(ElementId id) const noexcept {
        return record(id).removed.load(std::memory_order_relaxed) != 0;
    }
    Links links(ElementId id, unsigned layer) const noexcept {
        return layer == 0 ? Links(base_links_.at(id), 2 * m_)
                          : Links(upper_links_.at(record(id).upper + layer - 1), m_);
    }

    std::size_t memory() const noexcept; // bytes, without borrowed vectors

private:
    unsigned random_level(ElementId id) const noexcept;

    VectorCodec codec_;
    std::uint32_t m_;
    std::uint64_t seed_;
    std::atomic<std::uint32_t> count_{0};
    std::uint32_t upper_rows_ = 0;
    Segments vectors_;
    Segments base_links_;
    Segments upper_links_;
    Segments records_;
};

} // namespace sotto::store
