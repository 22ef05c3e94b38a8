// Signal on top of futex(2).
#include "platform/signal.hpp"

#include <climits>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sotto {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;

std::uint32_t* address(std::atomic<std::uint32_t>& value) noexcept {
    static_assert(sizeof(value) == sizeof(std::uint32_t));
    return reinterpret_cast<std::uint32_t*>(&value);
}

} // namespace

void Signal::notify() noexcept {
    value_.fetch_add(1, std::memory_order_seq_cst);
    if (waiting_.load(std::memory_order_seq_cst) != 0) {
        syscall(SYS_futex, address(value_), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
    }
}

void Signal::wait(std::uint32_t seen, std::int64_t timeout_ns) noexcept {
    timespec timeout{};
    timeout.tv_sec = timeout_ns / kSecond;
    timeout.tv_nsec = timeout_ns % kSecond;
    waiting_.fetch_add(1, std::memory_order_seq_cst);
    syscall(
        SYS_futex, address(value_), FUTEX_WAIT_PRIVATE, seen, timeout_ns < 0 ? nullptr : &timeout, nullptr, 0
    );
    waiting_.fetch_sub(1, std::memory_order_seq_cst);
}

} // namespace sotto
