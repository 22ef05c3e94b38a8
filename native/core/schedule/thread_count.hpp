// How many threads steps are taken on, found out while they are taken.
#pragma once

#include <array>
#include <cstdint>

namespace sotto {

// Tries another number now and then, for a few steps, and stays with it where they come out faster than
// predicted for the present number. What was tried in vain is tried again ever more rarely.
class ThreadCount {
public:
    // The numbers that may be used, and the one to begin with. Where these change, trying begins anew.
    void set_range(std::uint32_t most, std::uint32_t start, std::int64_t now) noexcept;

    // How many the next step is to be taken on.
    std::uint32_t now() const noexcept { return trial_ != 0 ? trial_ : count_; }
    // How many steps are taken on usually.
    std::uint32_t settled() const noexcept { return count_; }
    bool tries() const noexcept { return trial_ != 0; }

    // A step on `threads` took `ns`; on the settled number it was predicted to take `predicted`, 0: unknown.
    void stepped(std::uint32_t threads, std::int64_t ns, std::int64_t predicted, std::int64_t now) noexcept;

    // A step took so long that it was given up.
    void gave_up(std::int64_t ns, std::int64_t now) noexcept;

private:
    static constexpr std::uint32_t kSteps = 6; // of a trial, the first of which does not count

    void begin_trial(std::int64_t now) noexcept;
    void end_trial(std::int64_t now) noexcept;
    void put_off(std::int64_t now) noexcept;

    std::uint32_t most_ = 1;
    std::uint32_t start_ = 1;
    std::uint32_t count_ = 1;
    std::uint32_t trial_ = 0; // 0: none
    bool upwards_ = true;
    std::uint32_t seen_ = 0; // steps of the trial
    std::int64_t began_ = 0; // the trial
    std::array<double, kSteps> ratios_{};
    std::int64_t next_ = 0;     // trial
    std::int64_t interval_ = 0; // between trials
};

} // namespace sotto
