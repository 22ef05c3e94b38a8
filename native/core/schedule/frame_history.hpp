// The game's last frames: a lock-free ring that the game's threads write and the engine's threads read.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace sotto {

// The game's work on one frame.
struct Frame {
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t period = 0; // 0: unknown
    bool missed = false;     // longer than the period, or late by half a period
};

// Any number of threads may add and read frames.
class FrameHistory {
public:
    // Adds a completed frame. Ignores a frame that ends before it begins: concurrent calls can report such a
    // frame.
    void add(const Frame& frame) noexcept;
    std::uint64_t missed() const noexcept { return missed_.load(std::memory_order_relaxed); }

    // Reads completed frames, oldest first. Skips frames that were overwritten before they were read.
    class Reader {
    public:
        bool next(const FrameHistory& history, Frame& frame) noexcept;

    private:
        std::uint64_t read_ = 0;
    };

private:
    static constexpr std::uint64_t kKept = 256;
    static constexpr std::uint64_t kWriting = UINT64_MAX;

    struct Kept {
        std::atomic<std::uint64_t> count{0}; // sequence number of the frame, from 1; kWriting during a write
        std::atomic<std::int64_t> begin{0};
        std::atomic<std::int64_t> end{0};
        std::atomic<std::int64_t> period{0};
        std::atomic<bool> missed{false};
    };

    std::array<Kept, kKept> kept_;
    std::atomic<std::uint64_t> written_{0};
    std::atomic<std::uint64_t> missed_{0};
};

} // namespace sotto
