// A growing array whose elements never move, so that other threads may read while it grows.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace sotto::store {

// Rows of `stride` bytes in segments of 256, 512, 1024, ... rows. Rows start uninitialised. One thread grows
// the array; any thread reads rows that it learned of from that thread.
class Segments {
public:
    explicit Segments(std::size_t stride) noexcept : stride_(stride) {}
    ~Segments();
    Segments(const Segments&) = delete;
    Segments& operator=(const Segments&) = delete;

    std::byte* at(std::uint32_t row) const noexcept {
        const std::uint64_t place = std::uint64_t{row} + kFirst;
        const auto segment = static_cast<std::size_t>(std::bit_width(place)) - kFirstWidth;
        return reinterpret_cast<std::byte*>(
            segments_[segment].origin.load(std::memory_order_relaxed) + place * stride_
        );
    }

    // Makes room for rows 0 to `count` - 1. Throws std::bad_alloc.
    void grow(std::uint64_t count);

    // Reads the first `count` rows from memory of others, which outlives the array. Called once, before
    // grow().
    void borrow(const std::byte* rows, std::uint64_t count) noexcept;
    std::uint64_t borrowed() const noexcept { return borrowed_; } // rows in memory of others

    std::size_t stride() const noexcept { return stride_; }

private:
    static constexpr std::uint64_t kFirst = 256;
    static constexpr std::size_t kFirstWidth = 9;
    static constexpr std::size_t kSegments = 24; // 2^32 rows
    static constexpr std::size_t kAlign = 64;

    struct Segment {
        // Address of the row 0 that this segment would have if rows were numbered from -kFirst on.
        std::atomic<std::uintptr_t> origin{0};
        void* memory = nullptr;
    };

    // Allocates a segment and copies `old_bytes` to its start. Readers see either the old rows or the new
    // ones.
    void allocate(std::size_t index, const std::byte* old, std::size_t old_bytes);

    std::size_t stride_;
    std::array<Segment, kSegments> segments_;
    std::size_t made_ = 0;
    std::uint64_t capacity_ = 0;
    std::uint64_t borrowed_ = 0;
    bool partly_borrowed_ = false; // the last segment
};

} // namespace sotto::store
