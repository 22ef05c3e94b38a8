// Compares steps on two numbers of threads.
#pragma once

#include <cstdint>

namespace sotto {

// Consecutive steps on one number of threads.
class StepWindow {
public:
    // Adds a step. `predicted`: its predicted time in ns on the settled number of threads. Returns
    // true once the window is long enough to compare.
    bool add(std::int64_t ns, std::int64_t predicted) noexcept;
    // Predicted time over measured time.
    double rate() const noexcept { return work_ / time_; }
    std::uint32_t steps() const noexcept { return steps_; }

private:
    double work_ = 0; // predicted nanoseconds
    double time_ = 0; // measured nanoseconds
    std::uint32_t steps_ = 0;
};

// Windows of steps on another number of threads alternate with windows on the settled number, until the
// difference in throughput exceeds its standard error.
class ThreadTrial {
public:
    enum class Verdict : std::uint8_t {
        open,
        next_window, // undecided; the next step switches to the other number of threads
        adopt,
        reject
    };

    // Returns true if a single step of that length is as informative as many short ones.
    static bool is_long(std::int64_t ns) noexcept;

    // Starts a trial of `count` threads.
    void begin(std::uint32_t count) noexcept;
    void end() noexcept { count_ = 0; }

    // The number of threads being tried; 0: no trial is running.
    std::uint32_t count() const noexcept { return count_; }
    // Returns true if the next step belongs to a window on the number being tried.
    bool is_elsewhere() const noexcept { return count_ != 0 && turn_ % 2 == 1; }
    // Adds a step that is left out of the comparison because the number of threads has just changed; counts
    // only its time, in elsewhere_ns().
    void skip(std::int64_t ns) noexcept;
    // Adds a step and returns the state of the trial. `settled`: the number of threads to compare with.
    Verdict add(std::int64_t ns, std::int64_t predicted, std::uint32_t settled) noexcept;

    // Total time in ns of the steps on the number tried, in the running trial or else in the last one.
    double elsewhere_ns() const noexcept { return elsewhere_; }

private:
    Verdict end_window(std::uint32_t settled) noexcept;
    Verdict judge(std::uint32_t settled) const noexcept;

    std::uint32_t count_ = 0;
    std::uint32_t turn_ = 0; // windows so far; odd: on the number tried
    StepWindow window_;
    double rate_before_ = 0; // throughput of the last window on the settled number
    double rate_during_ = 0; // throughput of the last window on the number tried
    double sum_ = 0;         // sum of log gains, each of one window against its two neighbors
    double squares_ = 0;
    std::uint32_t gains_ = 0;
    double elsewhere_ = 0;
};

} // namespace sotto
