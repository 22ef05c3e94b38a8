// Wakes one thread or many, without a lock between those who call and those who wait.
#pragma once

#include <atomic>
#include <cstdint>

namespace sotto {

// To wait for a condition: read value(), look at the condition, then wait(value). A notify() in
// between makes wait() return at once.
class Signal {
public:
    std::uint32_t value() const noexcept { return value_.load(std::memory_order_seq_cst); }

    // Never waits. Whoever waits, or is about to, wakes.
    void notify() noexcept;

    // Waits until notify() has been called since value() was `seen`, or for `timeout_ns` (below 0:
    // for ever). May return early.
    void wait(std::uint32_t seen, std::int64_t timeout_ns) noexcept;

private:
    std::atomic<std::uint32_t> value_{0};
    std::atomic<std::uint32_t> waiting_{0};
};

} // namespace sotto
