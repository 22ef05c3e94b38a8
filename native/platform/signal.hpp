// Wakes one or more waiting threads without a lock shared by the notifier and the waiters.
#pragma once

#include <atomic>
#include <cstdint>

namespace sotto {

// Waiting for a condition: read value(), check the condition, then wait(value). A notify() in between makes
// wait() return at once.
class Signal {
public:
    std::uint32_t value() const noexcept { return value_.load(std::memory_order_seq_cst); }

    // Never blocks. Wakes all threads that wait, or are about to.
    void notify() noexcept;

    // Waits until notify() has been called since value() returned `seen`, or until `timeout_ns` have passed
    // (negative: no timeout). May return early.
    void wait(std::uint32_t seen, std::int64_t timeout_ns) noexcept;

private:
    std::atomic<std::uint32_t> value_{0};
    std::atomic<std::uint32_t> waiting_{0};
};

} // namespace sotto
