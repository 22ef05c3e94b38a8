// A trace of the engine's slices (scheduled backend steps), for the host to read.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include <sotto/trace.h>

namespace sotto {

// Written by the control thread, which never waits for a reader.
class Trace {
public:
    explicit Trace(std::uint32_t capacity) : slices_(capacity) {}

    bool is_kept() const noexcept { return !slices_.empty(); }

    // Adds a slice, or drops it if the ring is full. Control thread only.
    void add(sotto_slice slice) noexcept {
        const auto written = written_.load(std::memory_order_relaxed);
        if (written - read_.load(std::memory_order_acquire) == slices_.size()) {
            ++lost_;
            return;
        }
        slice.lost = lost_;
        lost_ = 0;
        slices_[written % slices_.size()] = slice;
        written_.store(written + 1, std::memory_order_release);
    }

    // Passes at most `most` slices to `put(index, slice)`, oldest first. Returns their number.
    template <typename Put>
    std::uint32_t take(std::uint32_t most, Put put) {
        const std::lock_guard lock(mutex_);
        const auto written = written_.load(std::memory_order_acquire);
        std::uint32_t count = 0;
        for (auto next = read_.load(std::memory_order_relaxed); next != written && count < most; ++next) {
            put(count++, slices_[next % slices_.size()]);
            read_.store(next + 1, std::memory_order_release);
        }
        return count;
    }

private:
    std::vector<sotto_slice> slices_; // a ring buffer
    std::atomic<std::uint64_t> written_{0};
    std::atomic<std::uint64_t> read_{0};
    std::uint32_t lost_ = 0; // slices dropped since the last add() that succeeded; control thread only
    std::mutex mutex_;       // serialises readers; the control thread never takes it
};

} // namespace sotto
