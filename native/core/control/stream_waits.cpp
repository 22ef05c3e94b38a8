#include "core/control/stream_waits.hpp"

#include <algorithm>

namespace sotto {

void StreamWaits::add(Stream& stream, std::uint32_t wait_ms, std::uint32_t wakes) {
    constexpr std::int64_t kMillisecond = 1'000'000;
    if (waker_.count() == wakes) {
        waits_.push_back({&stream, clock_.now() + wait_ms * kMillisecond});
        stream.awaits = true;
    }
}

bool StreamWaits::take_done() noexcept {
    const auto count = waker_.count();
    const bool woken = count != seen_;
    seen_ = count;
    if (waits_.empty()) {
        return false;
    }
    const auto now = clock_.now();
    const auto ended = std::erase_if(waits_, [&](const Wait& wait) {
        const bool ends = woken || wait.until <= now;
        wait.stream->awaits = wait.stream->awaits && !ends;
        return ends;
    });
    return ended > 0;
}

std::int64_t StreamWaits::next_timeout() const noexcept {
    auto due = kNever;
    for (const auto& wait : waits_) {
        due = std::min(due, wait.until);
    }
    return due;
}

void StreamWaits::remove(const Stream& stream) noexcept {
    std::erase_if(waits_, [&](const Wait& wait) { return wait.stream == &stream; });
}

} // namespace sotto
