// Limits the threads and the duty cycle of models, so that the game keeps its frame rate.
#pragma once

#include <cstdint>

#include "core/schedule/duty_experiment.hpp"
#include "core/schedule/frame.hpp"
#include "core/schedule/thread_count.hpp"

namespace sotto {

// Reduces the threads of models, then their duty cycle, only where models are
// shown to make the game miss frames.
//
// If the rate of missed frames is clearly over 1 percentage point above the game's own rate, an experiment
// starts: models pause for a few frames and run for a few, in turn, until it is clear whether the game misses
// more frames while they run (two-proportion z-test).
//
// If models are at fault, the controller cuts the models' threads, then their duty cycle (multiplicative
// decrease), and raises the duty cycle slowly up to nearly the value at which models were last at fault
// (additive increase). Now and then a probe gives models all threads and the full duty cycle for a few
// frames; models keep both if no frame is missed.
//
// If models are not at fault, the game misses those frames by itself: models keep their threads and duty
// cycle, and the next experiment is delayed longer each time.
class DutyController {
public:
    struct Terms {
        double min = 0;     // minimum duty cycle, however many frames are missed
        bool yields = true; // model threads yield to the game's threads and are rarely at fault
        Cores cores;
    };
    void frame(const Frame& frame, Beside beside, const Terms& terms) noexcept;

    // Duty cycle, from 0 to 1.
    double duty() const noexcept { return duty_; }
    // Maximum threads of a step.
    std::uint32_t threads(const Cores& cores) const noexcept;
    // Returns true during a probe: models get all threads and the full duty cycle for a few frames, to test
    // whether frames are missed.
    bool probes() const noexcept { return before_probe_ > 0; }
    // Returns true while models pause for an experiment.
    bool rests() const noexcept { return experiment_.rests(); }

private:
    void look(std::int64_t now) noexcept;
    void grow(const Frame& frame) noexcept;
    void probe(const Frame& frame) noexcept;
    void experiment(const Frame& frame, Beside beside, const Terms& terms) noexcept;
    void blame(const Terms& terms, std::int64_t now) noexcept;
    void acquit(std::int64_t now) noexcept;

    double duty_ = 1;
    std::uint32_t spared_ = 0;    // thread limit: 0 all, 1 halfway down to the free cores, 2 the free cores
    double ceiling_ = 1;          // duty at which models were last at fault
    double own_ = 0;              // rate of frames that the game misses by itself
    FrameTally seen_;             // frames since the last check
    std::int64_t grown_at_ = 0;   // time of the last change of duty_ or of the last missed frame
    double before_probe_ = 0;     // duty cycle before the probe; 0: no probe is running
    std::uint32_t probed_ = 0;    // frames of the probe so far
    std::int64_t probe_at_ = 0;   // start of the next probe
    std::int64_t probe_wait_ = 0; // ns between two probes
    DutyExperiment experiment_;
};

// Returns how long models pause after a step that took `took` ns, so that steps take the fraction `duty` of
// the time; in ns, at most 200 ms.
std::int64_t rest_of(double duty, std::int64_t took) noexcept;

} // namespace sotto
