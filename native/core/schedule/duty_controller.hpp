// How many cores and how much of the time models may use, so that the game keeps its frames.
#pragma once

#include <cstdint>

#include "core/schedule/duty_experiment.hpp"
#include "core/schedule/frame.hpp"
#include "core/schedule/thread_count.hpp"

namespace sotto {

// Cuts the threads of models, then their duty cycle, where they are shown to make the game miss frames, and
// only there.
//
// When more than one frame in a hundred misses its period, models rest for a few frames and run for a few, in
// turn, until it is clear whether the game misses more beside them (two proportions, z test). If it does,
// they get less, in steps (multiplicative decrease), and little by little more again, up to where they were
// at fault (additive increase); now and then they get all for a few frames, and keep it where none is missed.
// If it does not, the game misses those frames by itself, they cost models nothing, and the next experiment
// is put off ever longer.
class DutyController {
public:
    struct Terms {
        double min = 0;     // duty cycle that models keep, whatever is missed
        bool yields = true; // models' threads yield to the game's, so that they are hardly ever at fault
        Cores cores;
    };
    // Takes a frame in.
    void frame(const Frame& frame, Beside beside, const Terms& terms) noexcept;

    // Between 0 and 1.
    double duty() const noexcept { return duty_; }
    // The most threads of a step.
    std::uint32_t threads(const Cores& cores) const noexcept;
    // Returns true if models get all for a few frames, to see whether it still makes the game miss frames.
    bool probes() const noexcept { return before_probe_ > 0; }
    // Returns true if models rest now, as a part of an experiment.
    bool rests() const noexcept { return experiment_.rests(); }

private:
    void look(std::int64_t now) noexcept;
    void grow(const Frame& frame) noexcept;
    void probe(const Frame& frame) noexcept;
    void experiment(const Frame& frame, Beside beside, const Terms& terms) noexcept;
    void blame(const Terms& terms, std::int64_t now) noexcept;
    void acquit(std::int64_t now) noexcept;

    double duty_ = 1;
    std::uint32_t spared_ = 0;    // how far threads are cut: 0, half way to the free cores, or to them
    double ceiling_ = 1;          // where models were at fault last
    double own_ = 0;              // part of its frames that the game misses by itself
    FrameTally seen_;             // since the last look
    std::int64_t grown_at_ = 0;   // when duty_ changed last, or a frame was missed
    double before_probe_ = 0;     // duty cycle; 0: models do not get all for a few frames
    std::uint32_t probed_ = 0;    // frames of those
    std::int64_t probe_at_ = 0;   // when the next few begin
    std::int64_t probe_wait_ = 0; // from one to the next
    DutyExperiment experiment_;
};

// How long models rest after a step that took so long, to have no more than `duty` of the time.
std::int64_t rest_of(double duty, std::int64_t took) noexcept;

} // namespace sotto
