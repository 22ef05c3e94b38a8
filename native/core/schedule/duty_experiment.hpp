// Finds out whether models make the game miss frames.
#pragma once

#include <cstdint>

#include "core/schedule/frame.hpp"

namespace sotto {

// What models did while the game worked on a frame.
enum class Beside : std::uint8_t {
    both,   // they computed for a part of it
    ran,    // they computed all the time
    rested, // they did not compute
};

// Frames, and how many of them were missed.
struct FrameTally {
    std::uint32_t frames = 0;
    std::uint32_t missed = 0;

    void add(bool is_missed) noexcept {
        ++frames;
        missed += is_missed ? 1 : 0;
    }
    double rate() const noexcept { return frames == 0 ? 0 : static_cast<double>(missed) / frames; }
};

// Models rest for a few frames and run for a few, in turn, until it is clear whether the game misses more
// frames beside them (two proportions, z test). Experiments that find nothing become rarer.
class DutyExperiment {
public:
    enum class Verdict : std::uint8_t {
        open,
        at_fault,     // models made the game miss frames
        not_at_fault, // the game misses those frames by itself
        unclear       // nothing was found out: models neither rest nor run
    };

    // Begins an experiment if one is due. No effect else.
    void begin(std::int64_t now) noexcept;
    bool is_on() const noexcept { return on_; }
    // Returns true if models rest now.
    bool rests() const noexcept { return on_ && rests_; }
    // Takes in a frame while an experiment is on. Any verdict but `open` ends the experiment. `yields`: as in
    // DutyController::Terms.
    Verdict add(const Frame& frame, Beside beside, bool yields) noexcept;

    // Of the last experiment.
    const FrameTally& rested() const noexcept { return rested_; }
    const FrameTally& ran() const noexcept { return ran_; }

    // Puts the next experiment off, ever longer.
    void put_off(std::int64_t now) noexcept;
    // Allows the next experiment from now on.
    void hurry(std::int64_t now) noexcept;

private:
    Verdict judge(bool yields) const noexcept;

    bool on_ = false;
    bool rests_ = false;
    std::uint32_t in_block_ = 0; // frames since models began to rest, or to run
    std::uint32_t unclear_ = 0;  // of one block, those that are neither
    FrameTally rested_;
    FrameTally ran_;
    std::int64_t next_ = 0;     // when the next experiment may begin
    std::int64_t interval_ = 0; // until the next one, where the last was in vain
};

} // namespace sotto
