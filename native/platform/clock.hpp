// Time, which tests may hold in their hands.
#pragma once

#include <cstdint>

#include "platform/signal.hpp"

namespace sotto {

constexpr std::int64_t kNever = INT64_MAX;

constexpr double milliseconds(std::int64_t nanoseconds) noexcept {
    return static_cast<double>(nanoseconds) / 1e6;
}

// The system's monotonic clock. Tests derive one that they advance by hand.
class Clock {
public:
    virtual ~Clock() = default;

    // Nanoseconds since some moment.
    virtual std::int64_t now() const noexcept;

    // As Signal::wait, but until `deadline` on this clock; kNever: for ever.
    virtual void wait(Signal& signal, std::uint32_t seen, std::int64_t deadline) noexcept;
};

// The one that everybody uses unless told otherwise.
Clock& system_clock() noexcept;

} // namespace sotto
