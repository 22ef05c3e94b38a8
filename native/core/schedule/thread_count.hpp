// Chooses the number of threads of steps at run time.
#pragma once

#include <cstdint>

#include "core/schedule/thread_trial.hpp"
#include "core/schedule/trial_schedule.hpp"

namespace sotto {

// Inputs for the number of threads, besides step times.
struct Cores {
    std::uint32_t usable = 1;
    std::uint32_t busy = 1;     // cores that the game keeps busy
    std::uint32_t asked = 0;    // threads that the host requests; 0: automatic
    bool yields = true;         // threads yield to the game's threads
    bool run_everywhere = true; // every core runs threads of the class that steps use

    std::uint32_t free() const noexcept { return usable > busy ? usable - busy : 1; }
    // Maximum threads to try: 1 unless `run_everywhere`; `asked` if set; all cores if threads yield
    // to the game, or else the free cores.
    std::uint32_t max() const noexcept {
        return !run_everywhere ? 1 : asked != 0 ? asked : yields ? usable : free();
    }
};

// Searches for the number of threads with the highest throughput. A trial alternates windows of steps on
// another number of threads with windows on settled() threads, until the difference in throughput exceeds its
// standard error. Throughput is work per time; the work of a step is its predicted time on settled() threads,
// so that windows with different prefill shares are comparable. Trials become rarer while they are rejected;
// a sudden change of the step times on settled() threads brings the next trial forward.
class ThreadCount {
public:
    // Sets the maximum number of threads. If it changes, the search restarts at that maximum, or resumes from
    // the saved result if `max` was the previous maximum.
    void set_max(std::uint32_t max, std::int64_t now) noexcept;

    // Threads of the next step.
    std::uint32_t now() const noexcept { return tries() ? trial_.count() : count_ - (spares_ ? 1 : 0); }
    // Number of threads of the steps outside of trials.
    std::uint32_t settled() const noexcept { return count_; }
    // Returns true if the next step runs on another number of threads, as part of a trial.
    bool tries() const noexcept { return trial_.is_elsewhere(); }

    // Records a step that took `ns` ns on `threads` threads. `predicted`: predicted time of the step in ns on
    // settled() threads; 0: unknown.
    void stepped(std::uint32_t threads, std::int64_t ns, std::int64_t predicted, std::int64_t now) noexcept;

    // Call when a step was given up because it took too long. Ends any trial. If the step ran on settled()
    // threads, lowers settled() by one; unless step times are `known`, only until predictable() is called:
    // the model may be slow, rather than a core occupied.
    void gave_up(bool known, std::int64_t now) noexcept;
    // Call when the times of steps can be predicted.
    void predictable() noexcept { spares_ = false; }

private:
    // Search result for one maximum.
    struct Settled {
        std::uint32_t max = 0;
        std::uint32_t count = 0;
        TrialSchedule::Saved schedule;
    };

    std::uint32_t neighbour() const noexcept;
    void begin_trial(std::int64_t now) noexcept;
    void adopt(std::int64_t now) noexcept;
    void reject(std::int64_t now) noexcept;

    std::uint32_t max_ = 1;
    std::uint32_t count_ = 1;
    Settled with_other_max_; // result for the previous maximum, which often comes back
    bool upwards_ = false;   // the next trial uses more threads
    bool changed_ = false;   // the next step is the first on another number of threads
    bool spares_ = false;    // steps use one thread less than settled()
    ThreadTrial trial_;
    TrialSchedule schedule_;
};

} // namespace sotto
