// Schedules trials of other numbers of threads.
#pragma once

#include <cstdint>

#include "core/schedule/thread_trial.hpp"

namespace sotto {

// Decides when to try another number of threads. The interval between trials grows while trials are
// rejected; a sudden change of step times brings the next trial forward. Times are in ns.
class TrialSchedule {
public:
    // State of a schedule, for restart().
    struct Saved {
        std::int64_t interval = 0;
        std::int64_t next = 0;
    };
    Saved saved() const noexcept { return {interval_, next_}; }
    // Starts anew, or resumes from `saved` if not null.
    void restart(const Saved* saved, std::int64_t now) noexcept;

    // Adds a step between trials. `elsewhere_ns`: ThreadTrial::elsewhere_ns().
    // Returns true if a trial is due.
    bool stepped(std::int64_t ns, std::int64_t predicted, double elsewhere_ns, std::int64_t now) noexcept;
    // Call when a trial begins.
    void began() noexcept;
    // Delays the next trial. Call if there is no other number of threads to try.
    void put_off(std::int64_t now) noexcept { next_ = now + interval_; }
    // Call when a trial ended and the number of threads that it tried is used from now on.
    void adopted(std::int64_t now) noexcept;
    // Call when a trial ended and the number of threads stays as it was. `elsewhere_ns`: as in stepped();
    // `upwards`: the next trial uses more threads.
    void rejected(double elsewhere_ns, bool upwards, std::int64_t now) noexcept;
    // Call when a step was given up because it took too long: the next trial starts soon.
    void gave_up(std::int64_t now) noexcept;

private:
    void ended(std::int64_t now) noexcept;

    StepWindow window_;
    double since_ = 0; // total time of the steps since the last trial
    // Minimum step time between the last trial and the next one, so that most steps are not part of a trial
    double wanted_ = 0;
    std::int64_t next_ = 0;
    std::int64_t interval_ = 0;
    std::int64_t may_hurry_ = 0; // earliest time at which a trial may be brought forward
    std::uint32_t unusual_ = 0;  // consecutive windows whose rate was far from usual_
    double usual_ = 0;           // moving average of log(predicted / measured time)
};

} // namespace sotto
