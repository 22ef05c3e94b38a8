// Memory that a search or an insertion works in. Kept for the next one.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <vector>

#include "store/elements.hpp"

namespace sotto::store {

struct Neighbor {
    float distance;
    ElementId id;
};

inline bool is_nearer(const Neighbor& a, const Neighbor& b) noexcept {
    return a.distance < b.distance || (a.distance == b.distance && a.id < b.id);
}

// A set of the elements that a search has seen. Elements that were added after reset() count as seen.
class SeenSet {
public:
    void reset(std::uint32_t count) {
        count_ = count;
        words_.assign((count + std::size_t{63}) / 64, 0);
    }
    // Returns false if the element was seen before.
    bool insert(ElementId id) noexcept {
        if (id >= count_) {
            return false;
        }
        auto& word = words_[id / 64];
        const std::uint64_t bit = std::uint64_t{1} << id % 64;
        const bool fresh = (word & bit) == 0;
        word |= bit;
        return fresh;
    }
    bool contains(ElementId id) const noexcept {
        return id < count_ && (words_[id / 64] >> id % 64 & 1) != 0;
    }

private:
    std::uint32_t count_ = 0;
    std::vector<std::uint64_t> words_;
};

// The nearest elements that a search has found, sorted by distance, and which of them it has yet to expand.
class Beam {
public:
    void reset(std::size_t width) {
        width_ = width;
        size_ = 0;
        next_ = 0;
        if (entries_.size() < width) {
            entries_.resize(width);
        }
    }
    // Adds an element unless `width` nearer ones are there.
    void insert(float distance, ElementId id) noexcept {
        if (size_ == width_ && !(distance < entries_[size_ - 1].distance)) {
            return;
        }
        const auto begin = entries_.begin();
        const auto at = std::upper_bound(
            begin,
            begin + static_cast<std::ptrdiff_t>(size_),
            distance,
            [](float wanted, const Neighbor& entry) { return wanted < entry.distance; }
        );
        size_ += size_ < width_ ? 1 : 0;
        const auto place = static_cast<std::size_t>(at - begin);
        std::memmove(&entries_[place] + 1, &entries_[place], (size_ - 1 - place) * sizeof(Neighbor));
        entries_[place] = {distance, id};
        next_ = std::min(next_, place);
    }
    // Returns the nearest element that was not returned before, or kNoElement.
    ElementId next() noexcept {
        while (next_ < size_ && (entries_[next_].id & kExpanded) != 0) {
            ++next_;
        }
        if (next_ == size_) {
            return kNoElement;
        }
        const ElementId id = entries_[next_].id;
        entries_[next_].id |= kExpanded;
        return id;
    }
    // Returns the element that next() would return if nothing nearer is found, or kNoElement.
    ElementId peek() const noexcept {
        return next_ + 1 < size_ ? entries_[next_ + 1].id & ~kExpanded : kNoElement;
    }
    std::size_t size() const noexcept { return size_; }
    Neighbor operator[](std::size_t i) const noexcept {
        return {entries_[i].distance, entries_[i].id & ~kExpanded};
    }

private:
    static constexpr ElementId kExpanded = ElementId{1} << 31; // ids are below
    static_assert(kMaxElements <= kExpanded);

    std::size_t width_ = 0;
    std::size_t size_ = 0;
    std::size_t next_ = 0;
    std::vector<Neighbor> entries_;
};

// Vectors whose distances are computed together.
struct Batch {
    static constexpr std::size_t kMax = 257; // the links of an element, and one more

    std::size_t count = 0;
    std::array<ElementId, kMax> ids;
    std::array<const std::byte*, kMax> vectors;
    std::array<float, kMax> distances;

    void add(ElementId id, const std::byte* vector) noexcept {
        ids[count] = id;
        vectors[count++] = vector;
    }
};

struct Scratch {
    explicit Scratch(const VectorCodec& codec)
        : query(aligned_bytes(codec.query_bytes())), other(aligned_bytes(codec.query_bytes())) {}

    SeenSet seen;
    SeenSet allowed;
    Beam beam;
    Batch batch;
    Batch kept;
    AlignedBytes query; // values of the query, and of an element that is compared with others
    AlignedBytes other;
    std::vector<float> normalised;
    std::vector<Neighbor> candidates; // a heap or a sorted list
    std::vector<Neighbor> found;
    std::array<std::vector<ElementId>, kMaxLevel + 1> selected; // links of a new element, by layer
    std::vector<ElementId> pruned;                              // links of one of its neighbours
};

// Scratch memory for as many threads as search at once. Never waits.
class ScratchPool {
public:
    explicit ScratchPool(const VectorCodec& codec) noexcept : codec_(codec) {}
    ~ScratchPool() {
        for (auto& slot : slots_) {
            delete slot.load();
        }
    }
    ScratchPool(const ScratchPool&) = delete;
    ScratchPool& operator=(const ScratchPool&) = delete;

    std::unique_ptr<Scratch> take() {
        for (auto& slot : slots_) {
            if (auto* scratch = slot.exchange(nullptr, std::memory_order_acquire)) {
                return std::unique_ptr<Scratch>(scratch);
            }
        }
        return std::make_unique<Scratch>(codec_);
    }
    void give(std::unique_ptr<Scratch> scratch) noexcept {
        for (auto& slot : slots_) {
            Scratch* none = nullptr;
            if (slot.compare_exchange_strong(none, scratch.get(), std::memory_order_release)) {
                (void)scratch.release();
                return;
            }
        }
    }

private:
    const VectorCodec& codec_;
    std::array<std::atomic<Scratch*>, 16> slots_{};
};

// Scratch memory for the duration of a call.
class ScratchLease {
public:
    explicit ScratchLease(ScratchPool& pool) : pool_(pool), scratch_(pool.take()) {}
    ~ScratchLease() { pool_.give(std::move(scratch_)); }
    ScratchLease(const ScratchLease&) = delete;
    ScratchLease& operator=(const ScratchLease&) = delete;

    Scratch& operator*() const noexcept { return *scratch_; }
    Scratch* operator->() const noexcept { return scratch_.get(); }

private:
    ScratchPool& pool_;
    std::unique_ptr<Scratch> scratch_;
};

} // namespace sotto::store
