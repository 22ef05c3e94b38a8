#include "core/schedule/frame.hpp"

#include <algorithm>
#include <cstdlib>

#include "platform/clock.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kLongestPeriod = 10'000'000'000;

// Returns the period that the game reported; 0 (unknown) if it is implausible.
std::int64_t checked(std::uint64_t period_ns) noexcept {
    return period_ns > static_cast<std::uint64_t>(kLongestPeriod) ? 0 : static_cast<std::int64_t>(period_ns);
}

} // namespace

void Frames::begin(std::int64_t time, std::uint32_t busy_cores, std::uint64_t period_ns) noexcept {
    const auto period = checked(period_ns);
    const auto before = began_.exchange(time, std::memory_order_relaxed);
    const auto since = time - before;
    const bool follows = before != 0 && period > 0 && since > 0 && since < kStale;
    const bool late = follows && since > period + period / 2;
    if (const auto open = working_.exchange(time, std::memory_order_release); open != 0 && follows) {
        history_.add({open, time, period, late}); // the game does not report when a frame ends
    }
    lateness_.begin(late);
    busy_cores_.store(busy_cores == 0 ? 1 : busy_cores, std::memory_order_relaxed);
    period_ns_.store(static_cast<std::uint64_t>(period), std::memory_order_relaxed);
    begun_.fetch_add(1, std::memory_order_relaxed);
    last_.store(time, std::memory_order_release);
}

void Frames::end(std::int64_t time, float busy_ms, float gpu_ms) noexcept {
    constexpr float kMost = 60'000;
    auto began = working_.exchange(0, std::memory_order_acq_rel);
    if (busy_ms > 0) {
        began = time - static_cast<std::int64_t>(std::min(busy_ms, kMost) * 1e6F);
    }
    const auto took = time - began;
    if (began != 0 && took >= 0 && took < kStale) {
        const auto period = static_cast<std::int64_t>(period_ns_.load(std::memory_order_relaxed));
        busy_ms = static_cast<float>(milliseconds(took));
        const auto usual = usual_ns_.load(std::memory_order_relaxed);
        usual_ns_.store(usual == 0 ? took : usual + (took - usual) / 8, std::memory_order_relaxed);
        history_.add({began, time, period, lateness_.end(period > 0, took > period)});
    }
    busy_ms_.store(busy_ms, std::memory_order_relaxed);
    gpu_ms_.store(gpu_ms, std::memory_order_relaxed);
    ended_.fetch_add(1, std::memory_order_relaxed);
    last_.store(time, std::memory_order_release);
}

std::size_t Frames::last(std::array<float, kShown>& work) const noexcept {
    Reader reader;
    Frame frame;
    std::size_t count = 0;
    while (count < kShown && reader.next(*this, frame)) {
        work[count++] = static_cast<float>(milliseconds(frame.end - frame.begin));
    }
    return count;
}

bool Frames::are_told(std::int64_t now) const noexcept {
    const auto last = last_.load(std::memory_order_acquire);
    return last != 0 && now - last < kStale;
}

std::uint32_t Frames::busy_cores(std::int64_t now) const noexcept {
    return are_told(now) ? busy_cores_.load(std::memory_order_relaxed) : 1;
}

bool Frames::in_work(std::int64_t now) const noexcept {
    constexpr std::int64_t kLongest = 250'000'000; // ns; after this, assumes that the end was not reported
    const auto since = working_.load(std::memory_order_acquire);
    return since != 0 && std::abs(now - since) < kLongest; // the work may have begun after `now` was read
}

std::int64_t Frames::work_ends() const noexcept {
    return working_.load(std::memory_order_relaxed) + usual_ns_.load(std::memory_order_relaxed);
}

float Frames::phase(std::int64_t now) const noexcept {
    const auto began = began_.load(std::memory_order_relaxed);
    const auto period = static_cast<std::int64_t>(period_ns_.load(std::memory_order_relaxed));
    if (began == 0 || period == 0 || now < began || now - began >= kStale) {
        return -1;
    }
    return static_cast<float>((now - began) % period) / static_cast<float>(period);
}

Frames::Report Frames::report() const noexcept {
    return {
        .begun = begun_.load(std::memory_order_relaxed),
        .ended = ended_.load(std::memory_order_relaxed),
        .missed = history_.missed(),
        .period_ns = period_ns_.load(std::memory_order_relaxed),
        .busy_ms = busy_ms_.load(std::memory_order_relaxed),
        .gpu_ms = gpu_ms_.load(std::memory_order_relaxed),
    };
}

} // namespace sotto
