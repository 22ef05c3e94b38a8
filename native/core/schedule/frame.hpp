// What the game says about its frames. Written by the game's threads, read by ours.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/schedule/frame_history.hpp"

namespace sotto {

// Calls may come out of order, doubled, from several threads, or not at all: what cannot be is left out.
class Frames {
public:
    struct Report {
        std::uint64_t begun = 0;
        std::uint64_t ended = 0;
        std::uint64_t missed = 0;
        std::uint64_t period_ns = 0;
        float busy_ms = 0;
        float gpu_ms = 0;
    };

    void begin(std::int64_t time, std::uint32_t busy_cores, std::uint64_t period_ns) noexcept;
    void end(std::int64_t time, float busy_ms, float gpu_ms) noexcept;

    // How many cores the game keeps busy. A game that said nothing, or nothing for a second, has one
    // thread that matters.
    std::uint32_t busy_cores(std::int64_t now) const noexcept;
    // Whether frames were reported within the last second.
    bool are_told(std::int64_t now) const noexcept;

    // Whether the game works on a frame, as far as it said.
    bool in_work(std::int64_t now) const noexcept;
    // About when that work will be done.
    std::int64_t work_ends() const noexcept;
    // Where in the frame that moment is, 0 to 1; below 0: there are no frames, or none of a known period.
    float phase(std::int64_t now) const noexcept;

    Report report() const noexcept;

    // The work on the last frames, in milliseconds. How many those are.
    static constexpr std::size_t kShown = 128;
    std::size_t last(std::array<float, kShown>& work) const noexcept;

    // Reads frames that are over, oldest first. Skips frames that were overwritten meanwhile.
    class Reader {
    public:
        bool next(const Frames& frames, Frame& frame) noexcept {
            return reader_.next(frames.history_, frame);
        }

    private:
        FrameHistory::Reader reader_;
    };

private:
    static constexpr std::int64_t kStale = 1'000'000'000;

    // Decides which frame a delay belongs to: the frame that took too long, and not also the next one, which
    // comes late for it.
    class Lateness {
    public:
        // A frame begins; `late`: a period after it should have.
        void begin(bool late) noexcept {
            late_.store(late && !counted_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        }
        // The frame ends. Returns true if it counts as missed. `took_long`: longer than the period.
        bool end(bool has_period, bool took_long) noexcept {
            const bool late = late_.exchange(false, std::memory_order_relaxed);
            const bool missed = has_period && (took_long || late);
            counted_.store(missed, std::memory_order_relaxed);
            return missed;
        }

    private:
        std::atomic<bool> late_{false};    // the frame under way
        std::atomic<bool> counted_{false}; // the frame before it, as missed
    };

    std::atomic<std::int64_t> last_{0};
    std::atomic<std::int64_t> began_{0};    // the last frame
    std::atomic<std::int64_t> working_{0};  // since when, or 0
    std::atomic<std::int64_t> usual_ns_{0}; // length of a frame's work
    std::atomic<std::uint64_t> begun_{0};
    std::atomic<std::uint64_t> ended_{0};
    std::atomic<std::uint64_t> period_ns_{0};
    std::atomic<std::uint32_t> busy_cores_{1};
    std::atomic<float> busy_ms_{0};
    std::atomic<float> gpu_ms_{0};
    Lateness lateness_;
    FrameHistory history_;
};

} // namespace sotto
