// Schedules trials of other numbers of threads.
#pragma once

#include <cstdint>

#include "core/schedule/thread_trial.hpp"

namespace sotto {

// Trials become rarer while they fail; a sudden change of step times
// brings one forward. Times are in ns.
class TrialSchedule {
public:
    // State to resume from.
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
    // A trial begins.
    void began() noexcept;
    // No other number can be tried.
    void put_off(std::int64_t now) noexcept { next_ = now + interval_; }
    // The trial ended with another number of threads.
    void adopted(std::int64_t now) noexcept;
    // The trial ended with the same number of threads. `upwards`: the next trial uses more threads.
    void rejected(double elsewhere_ns, bool upwards, std::int64_t now) noexcept;
    // A step was given up because it took too long.
    void gave_up(std::int64_t now) noexcept;

private:
    void ended(std::int64_t now) noexcept;

    StepWindow window_;
    double since_ = 0; // step time since the last trial
    // Minimum since_ before the next trial, so that few requests fall into trials
    double wanted_ = 0;
    std::int64_t next_ = 0;
    std::int64_t interval_ = 0;
    std::int64_t may_hurry_ = 0; // earliest time to bring a trial forward
    std::uint32_t unusual_ = 0;  // consecutive windows whose rate was far from usual_
    double usual_ = 0;           // moving average of log(predicted / measured time)
};

} // namespace sotto
