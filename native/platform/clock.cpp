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
    } else if (const auto time = now(); deadline > time) { // it may be INT64_MIN
        signal.wait(seen, deadline - time);
    }
}

Clock& system_clock() noexcept {
    // For ever, as threads of an engine that nobody destroys look at it; and without memory.
    alignas(Clock) static std::byte room[sizeof(Clock)];
    static auto& clock = *new (room) Clock;
    return clock;
}

} // namespace sotto
