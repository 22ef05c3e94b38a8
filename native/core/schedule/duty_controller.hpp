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
// If more than 1% of frames miss their period, an experiment starts: models pause for a few
// frames and run for a few, in turn, until it is clear whether the game misses more frames while
// they run (two-proportion z-test).
//
// If it does, their share is cut (multiplicative decrease), then raised slowly up to where models
// were last at fault (additive increase). Now and then models get everything for a few frames, and
// keep it if no frame is missed.
//
// If it does not, the game misses those frames by itself: models keep their share, and the next
// experiment is delayed longer each time.
class DutyController {
public:
    struct Terms {
        double min = 0;     // minimum duty cycle, whatever is missed
        bool yields = true; // model threads yield to the game's, so are rarely at fault
        Cores cores;
    };
    void frame(const Frame& frame, Beside beside, const Terms& terms) noexcept;

    // Duty cycle, from 0 to 1.
    double duty() const noexcept { return duty_; }
    // Maximum threads of a step.
    std::uint32_t threads(const Cores& cores) const noexcept;
    // Returns true while models get everything for a few frames, to test for missed frames.
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
    std::uint32_t spared_ = 0;    // cut of threads: 0 none, 1 halfway to the free cores, 2 to them
    double ceiling_ = 1;          // duty at which models were last at fault
    double own_ = 0;              // rate of frames that the game misses by itself
    FrameTally seen_;             // since the last check
    std::int64_t grown_at_ = 0;   // time of the last change of duty_, or missed frame
    double before_probe_ = 0;     // duty cycle before the probe; 0: no probe is running
    std::uint32_t probed_ = 0;    // frames of the probe so far
    std::int64_t probe_at_ = 0;   // start of the next probe
    std::int64_t probe_wait_ = 0; // between probes
    DutyExperiment experiment_;
};

// Returns how long models pause after a step that took `took` ns, to use at most
// `duty` of the time. At most 200 ms.
std::int64_t rest_of(double duty, std::int64_t took) noexcept;

} // namespace sotto
