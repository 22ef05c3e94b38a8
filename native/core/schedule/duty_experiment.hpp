// Tests whether models make the game miss frames.
#pragma once

#include <cstdint>

#include "core/schedule/frame.hpp"

namespace sotto {

// Activity of models during a frame of the game.
enum class Beside : std::uint8_t {
    both,   // computed for part of the frame
    ran,    // computed all the time
    rested, // did not compute
};

struct FrameTally {
    std::uint32_t frames = 0;
    std::uint32_t missed = 0;

    void add(bool is_missed) noexcept {
        ++frames;
        missed += is_missed ? 1 : 0;
    }
    double rate() const noexcept { return frames == 0 ? 0 : static_cast<double>(missed) / frames; }
};

// Models pause for a few frames and run for a few, in turn, until it is clear whether
// the game misses more frames while they run (two-proportion z-test). Experiments
// without a finding become rarer.
class DutyExperiment {
public:
    enum class Verdict : std::uint8_t {
        open,
        at_fault,     // models make the game miss frames
        not_at_fault, // the game misses those frames by itself
        unclear       // no finding: models did not pause or run when they should have
    };

    // Starts an experiment if one is due. Otherwise no effect.
    void begin(std::int64_t now) noexcept;
    bool is_on() const noexcept { return on_; }
    // Returns true while models pause.
    bool rests() const noexcept { return on_ && rests_; }
    // Adds a frame while an experiment is on. Any verdict except `open` ends the experiment.
    // `yields`: as in DutyController::Terms.
    Verdict add(const Frame& frame, Beside beside, bool yields) noexcept;

    // Frames without models (rested) and with models (ran), in the current or the last experiment.
    const FrameTally& rested() const noexcept { return rested_; }
    const FrameTally& ran() const noexcept { return ran_; }

    // Delays the next experiment, longer each time.
    void put_off(std::int64_t now) noexcept;
    // Makes the next experiment due at `now`, and resets the delay between experiments.
    void hurry(std::int64_t now) noexcept;

private:
    Verdict judge(bool yields) const noexcept;

    bool on_ = false;
    bool rests_ = false;
    std::uint32_t in_block_ = 0; // frames of the current block
    std::uint32_t unclear_ = 0;  // frames of the block in which models did not pause or run as they should
    FrameTally rested_;
    FrameTally ran_;
    std::int64_t next_ = 0;     // earliest start of the next experiment
    std::int64_t interval_ = 0; // delay after an experiment without a finding
};

} // namespace sotto
