// Frame times that the game reports. The game's threads write them, the engine's threads read them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/schedule/frame_history.hpp"

namespace sotto {

// The game's calls of begin() and end() may be out of order, duplicated, from several threads, or missing:
// implausible values are ignored.
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

    // Cores that the game keeps busy; 1 if it reported nothing within the last second.
    std::uint32_t busy_cores(std::int64_t now) const noexcept;
    // Returns true if frames were reported within the last second.
    bool are_told(std::int64_t now) const noexcept;

    // Returns true if the game is working on a frame, as far as reported.
    bool in_work(std::int64_t now) const noexcept;
    // Estimated end of the work on the current frame; only meaningful while in_work() returns true.
    std::int64_t work_ends() const noexcept;
    // Returns the position of `now` within the frame, from 0 to 1; negative
    // without frames of a known period.
    float phase(std::int64_t now) const noexcept;

    Report report() const noexcept;

    // Writes the work times of the last frames, in ms, to `work`. Returns their number.
    static constexpr std::size_t kShown = 128;
    std::size_t last(std::array<float, kShown>& work) const noexcept;

    // Reads completed frames, oldest first. Skips frames that were overwritten before they were read.
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

    // Counts one missed frame per delay: the frame that took too long, but not also the next frame, which
    // begins late because of the delay.
    class Lateness {
    public:
        // Call when a frame begins. `late`: the frame begins more than half a period late.
        void begin(bool late) noexcept {
            late_.store(late && !counted_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        }
        // Call when a frame ends. Returns true if the frame counts as missed. `took_long`: the frame took
        // longer than the period.
        bool end(bool has_period, bool took_long) noexcept {
            const bool late = late_.exchange(false, std::memory_order_relaxed);
            const bool missed = has_period && (took_long || late);
            counted_.store(missed, std::memory_order_relaxed);
            return missed;
        }

    private:
        std::atomic<bool> late_{false};    // the current frame began late
        std::atomic<bool> counted_{false}; // the previous frame counted as missed
    };

    std::atomic<std::int64_t> last_{0};
    std::atomic<std::int64_t> began_{0};    // start of the last frame
    std::atomic<std::int64_t> working_{0};  // start of the frame that the game is working on, or 0
    std::atomic<std::int64_t> usual_ns_{0}; // moving average of a frame's work time
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
