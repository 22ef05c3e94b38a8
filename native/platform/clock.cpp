#include "platform/clock.hpp"

#include <chrono>
#include <cstddef>
#include <new>

namespace sotto {

std::int64_t Clock::now() const noexcept {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

void Clock::wait(Signal& signal, std::uint32_t seen, std::int64_t deadline) noexcept {
    if (deadline == kNever) {
        signal.wait(seen, -1);
        // compares before subtracting: `deadline` may be INT64_MIN
    } else if (const auto time = now(); deadline > time) {
        signal.wait(seen, deadline - time);
    }
}

Clock& system_clock() noexcept {
    // Never destroyed, because threads of an engine that is never destroyed keep reading it; static storage,
    // because allocating could fail.
    alignas(Clock) static std::byte room[sizeof(Clock)];
    static auto& clock = *new (room) Clock;
    return clock;
}

} // namespace sotto
