// The game's last frames, written by its threads and read by ours without a lock.
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
    std::int64_t period = 0; // 0: not known
    bool missed = false;     // it took longer than the period, or came a period late
};

// A ring of frames. Any number of threads may add frames and read them.
class FrameHistory {
public:
    // Ignores a frame that ends before it begins, as calls from several threads may report.
    void add(const Frame& frame) noexcept;
    // How many frames were missed.
    std::uint64_t missed() const noexcept { return missed_.load(std::memory_order_relaxed); }

    // Reads frames that are over, oldest first. Skips frames that were overwritten meanwhile.
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
        std::atomic<std::uint64_t> count{0}; // how many came before it, and one
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
