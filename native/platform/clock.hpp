// The system's monotonic clock, behind an interface that lets tests use a clock of their own.
#pragma once

#include <cstdint>

#include "platform/signal.hpp"

namespace sotto {

constexpr std::int64_t kNever = INT64_MAX;

constexpr double milliseconds(std::int64_t nanoseconds) noexcept {
    return static_cast<double>(nanoseconds) / 1e6;
}

// The system's monotonic clock. Tests derive a clock that they advance manually.
class Clock {
public:
    virtual ~Clock() = default;

    // Nanoseconds since an arbitrary start.
    virtual std::int64_t now() const noexcept;

    // Like Signal::wait(), with an absolute `deadline` on this clock; kNever: no deadline.
    virtual void wait(Signal& signal, std::uint32_t seen, std::int64_t deadline) noexcept;
};

// The default clock.
Clock& system_clock() noexcept;

} // namespace sotto
