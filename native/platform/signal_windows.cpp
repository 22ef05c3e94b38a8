// Signal on top of WaitOnAddress().
#include "platform/signal.hpp"

#include "platform/windows.hpp"

#include <timeapi.h>

namespace sotto {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

// Raises the timer resolution during short waits. Windows ends a timed wait only at a timer tick, by default
// every 15.6 ms.
class Ticks {
public:
    explicit Ticks(std::int64_t timeout_ns) noexcept
        : fine_(timeout_ns >= 0 && timeout_ns < 40 * kMillisecond && timeBeginPeriod(1) == TIMERR_NOERROR) {}
    ~Ticks() {
        if (fine_) {
            timeEndPeriod(1);
        }
    }
    Ticks(const Ticks&) = delete;
    Ticks& operator=(const Ticks&) = delete;

private:
    const bool fine_;
};

DWORD wait_milliseconds(std::int64_t ns) noexcept {
    constexpr std::int64_t kLongest = INFINITE - 1;
    if (ns < 0) {
        return INFINITE;
    }
    const auto whole = ns / kMillisecond + (ns % kMillisecond != 0 ? 1 : 0);
    return static_cast<DWORD>(whole < kLongest ? whole : kLongest); // Signal::wait() may return early
}

} // namespace

void Signal::notify() noexcept {
    value_.fetch_add(1, std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_seq_cst) != 0) {
        WakeByAddressAll(&value_);
    }
}

void Signal::wait(std::uint32_t seen, std::int64_t timeout_ns) noexcept {
    static_assert(sizeof(value_) == sizeof seen);
    const Ticks ticks(timeout_ns);
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    WaitOnAddress(&value_, &seen, sizeof seen, wait_milliseconds(timeout_ns));
    waiting_.fetch_sub(1, std::memory_order_seq_cst);
}

} // namespace sotto
