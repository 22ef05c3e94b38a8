// How many threads steps run on, chosen while they run.
#pragma once

#include <cstdint>

#include "core/schedule/thread_trial.hpp"
#include "core/schedule/trial_schedule.hpp"

namespace sotto {

// What the number of threads hangs on, beside how fast steps are.
struct Cores {
    std::uint32_t usable = 1;
    std::uint32_t busy = 1;     // that the game keeps busy
    std::uint32_t asked = 0;    // threads that the host asks for; 0: as many as are best
    bool yields = true;         // threads take no core from the game
    bool run_everywhere = true; // each core runs such threads

    std::uint32_t free() const noexcept { return usable > busy ? usable - busy : 1; }
    // The most threads that may be tried. Threads that yield take nothing from the game, so as many as there
    // are cores; others leave the game its own.
    std::uint32_t max() const noexcept {
        return !run_everywhere ? 1 : asked != 0 ? asked : yields ? usable : free();
    }
};

// Compares throughput: now and then windows of steps on another number of threads alternate with windows on
// the present one, until the difference is larger than its standard error. Throughput is work per time, and
// the work of a step is what it was predicted to take on the present number, so that windows with more of a
// prompt in them compare with others. Numbers that lost are tried again ever more rarely, but at once where
// steps on the present number suddenly take another time than before.
class ThreadCount {
public:
    // Sets the largest number of threads, which is the one to begin with. Where it changes, the search begins
    // anew, or goes on where it stood with the largest number before.
    void set_max(std::uint32_t max, std::int64_t now) noexcept;

    // Threads of the next step.
    std::uint32_t now() const noexcept { return tries() ? trial_.count() : count_; }
    // Threads of most steps.
    std::uint32_t settled() const noexcept { return count_; }
    // Returns true if the next step belongs to a trial of another number.
    bool tries() const noexcept { return trial_.is_elsewhere(); }

    // A step on `threads` took `ns`; on the settled number it was predicted to take `predicted`, 0: unknown.
    void stepped(std::uint32_t threads, std::int64_t ns, std::int64_t predicted, std::int64_t now) noexcept;

    // A step took so long that it was given up.
    void gave_up(std::int64_t now) noexcept;

private:
    // What was found for a largest number.
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
    Settled with_other_max_; // the last one before max_, which often comes back
    bool upwards_ = false;   // the next trial is of more threads
    bool changed_ = false;   // the number of threads, before the next step
    ThreadTrial trial_;
    TrialSchedule schedule_;
};

} // namespace sotto
