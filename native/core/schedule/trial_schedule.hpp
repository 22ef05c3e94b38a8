// When the next number of threads is tried.
#pragma once

#include <cstdint>

#include "core/schedule/thread_trial.hpp"

namespace sotto {

// Trials become ever rarer while they fail, and one is brought forward if step times change suddenly. Times
// are nanoseconds.
class TrialSchedule {
public:
    // What was found for a number of threads, so that it can be taken up again.
    struct Saved {
        std::int64_t interval = 0;
        std::int64_t next = 0;
    };
    Saved saved() const noexcept { return {interval_, next_}; }
    // Begins anew, or goes on from `saved`, if that is not null.
    void restart(const Saved* saved, std::int64_t now) noexcept;

    // Takes in a step between trials; `elsewhere_ns`: ThreadTrial::elsewhere_ns(). Returns true if a trial is
    // due.
    bool stepped(std::int64_t ns, std::int64_t predicted, double elsewhere_ns, std::int64_t now) noexcept;
    // A trial begins.
    void began() noexcept;
    // There was nothing to try.
    void put_off(std::int64_t now) noexcept { next_ = now + interval_; }
    // The trial ended with another number of threads.
    void adopted(std::int64_t now) noexcept;
    // The trial ended with the same number of threads. `upwards`: the next trial is of more threads.
    void rejected(double elsewhere_ns, bool upwards, std::int64_t now) noexcept;
    // A step took so long that it was given up.
    void gave_up(std::int64_t now) noexcept;

private:
    void ended(std::int64_t now) noexcept;

    StepWindow window_;
    double since_ = 0;  // step time since the last trial
    double wanted_ = 0; // least since_ before the next trial, so that few requests fall into trials
    std::int64_t next_ = 0;
    std::int64_t interval_ = 0;
    std::int64_t may_hurry_ = 0; // when the next trial may be brought forward
    std::uint32_t unusual_ = 0;  // consecutive windows whose rate was far from usual_
    double usual_ = 0;           // moving average of log(predicted / measured time)
};

} // namespace sotto
