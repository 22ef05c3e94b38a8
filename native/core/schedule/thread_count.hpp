// How many threads steps run on, chosen while they run.
#pragma once

#include <cstdint>

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
    std::uint32_t now() const noexcept { return tries() ? trial_ : count_; }
    // Threads of most steps.
    std::uint32_t settled() const noexcept { return count_; }
    // Returns true if the next step belongs to a trial of another number.
    bool tries() const noexcept { return trial_ != 0 && turn_ % 2 == 1; }

    // A step on `threads` took `ns`; on the settled number it was predicted to take `predicted`, 0: unknown.
    void stepped(std::uint32_t threads, std::int64_t ns, std::int64_t predicted, std::int64_t now) noexcept;

    // A step took so long that it was given up.
    void gave_up(std::int64_t now) noexcept;

private:
    // Steps on one number of threads, one after another.
    struct Window {
        double work = 0; // predicted nanoseconds
        double time = 0; // measured ones
        std::uint32_t steps = 0;

        bool add(std::int64_t ns, std::int64_t predicted) noexcept;
        double rate() const noexcept { return work / time; }
    };

    // What was found for a largest number.
    struct Settled {
        std::uint32_t max = 0;
        std::uint32_t count = 0;
        std::int64_t interval = 0;
        std::int64_t next = 0;
    };

    std::uint32_t neighbour() const noexcept;
    void watch(std::int64_t ns, std::int64_t predicted, std::int64_t now) noexcept;
    void begin_trial(std::int64_t now) noexcept;
    void end_window(std::int64_t now) noexcept;
    void judge(std::int64_t now) noexcept;
    void end_trial(std::int64_t now) noexcept;
    void adopt(std::int64_t now) noexcept;
    void reject(std::int64_t now) noexcept;

    std::uint32_t max_ = 1;
    std::uint32_t count_ = 1;
    Settled with_other_max_; // the last one before max_, which often comes back
    bool upwards_ = false;
    std::uint32_t trial_ = 0; // the other number; 0: no trial
    std::uint32_t turn_ = 0;  // windows of the trial so far; on the other number where it is odd
    bool changed_ = false;    // the number of threads, before the next step
    Window window_;
    double rate_before_ = 0; // of the last window on the settled number
    double rate_during_ = 0; // likewise on the other one
    double sum_ = 0;         // of the logarithms of gains, each a window between two others
    double squares_ = 0;
    std::uint32_t gains_ = 0;
    double elsewhere_ = 0;       // time that steps of the trial took on the other number
    double since_ = 0;           // step time since the last trial
    double wanted_ = 0;          // least since_ before the next trial, so that few requests fall into trials
    std::int64_t next_ = 0;      // trial
    std::int64_t interval_ = 0;  // between trials
    std::int64_t may_hurry_ = 0; // when the next one may be brought forward
    std::uint32_t unusual_ = 0;  // consecutive windows whose rate was far from usual_
    double usual_ = 0;           // moving average of log(predicted / measured time)
};

} // namespace sotto
