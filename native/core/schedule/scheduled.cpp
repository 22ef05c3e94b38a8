#include "core/schedule/scheduled.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sotto {

void ScheduledModel::learn(const Step& step) noexcept {
    if (step.gave_up) {
        gave_up = true;
        thread_count.gave_up(costs.is_known(), step.ended);
        return;
    }
    if (step.load.tokens() == 0) { // the step returned only tokens that an earlier step verified
        return;
    }
    const auto usual = costs.predict(thread_count.settled(), step.load);
    thread_count.stepped(step.threads, step.took, usual, step.ended);
    costs.learn(step.threads, step.load, step.took);
    if (costs.is_known()) {
        thread_count.predictable();
    }
}

void ScheduledStream::opened(std::uint32_t tokens, std::uint32_t remembered) noexcept {
    prompt = tokens;
    unparked(tokens - std::min(remembered, tokens));
}

void ScheduledStream::unparked(std::uint32_t left) noexcept {
    remaining = left;
    state = remaining > 0 ? State::prompting : State::speaking;
}

void ScheduledStream::stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept {
    unparked(left);
    if (spoke && generated++ == 0) {
        first = now;
    }
}

void ScheduledStream::look() noexcept {
    if (pacer_ != nullptr) {
        pace = {pacer_->rate(), pacer_->told(), pacer_->next()};
    }
}

std::uint32_t ScheduledStream::context() const noexcept {
    const auto all = prompt + generated;
    return all - std::min(all, remaining);
}

bool ScheduledStream::is_overdue(std::int64_t now) const noexcept {
    constexpr std::int64_t kVeryLong = 10'000'000'000;
    return now - served_at > kVeryLong;
}

bool ScheduledStream::is_tenant(std::int64_t now) const noexcept {
    constexpr std::uint32_t kLine = 64; // tokens; typical length of one line
    constexpr std::uint32_t kMinimum = 8;
    constexpr std::int64_t kLong = 1'000'000'000;
    const auto spoken = generated - tenure.generated;
    const bool used = spoken >= kLine || (spoken >= kMinimum && now - tenure.since >= kLong);
    return tenure.since != 0 && !is_outside() && !used;
}

std::uint32_t ScheduledStream::take_progress() noexcept {
    const auto spoken = generated - std::exchange(seen_generated, generated);
    const auto before = std::exchange(seen_remaining, remaining);
    return spoken + (before > remaining ? before - remaining : 0);
}

// Returns how many tokens a paced stream may decode ahead of its pace: the tokens of 0.25 s, at least 2 and
// at most 16. The lead hides the steps of other streams, and wastes few tokens if the request is cancelled.
std::uint32_t ScheduledStream::most_ahead() const noexcept {
    constexpr double kSeconds = 0.25;
    constexpr double kLeast = 2;
    constexpr double kMost = 16;
    return static_cast<std::uint32_t>(std::clamp(std::ceil(pace.rate * kSeconds), kLeast, kMost));
}

// Returns when token `n` is due at the stream's pace. The schedule goes on even if the host takes no tokens.
std::int64_t ScheduledStream::moment_of(std::uint32_t n) const noexcept {
    if (n <= pace.told) {
        return INT64_MIN;
    }
    const auto [from, begin] = pace.told == 0 ? std::pair(1U, first) : std::pair(pace.told + 1, pace.next);
    return begin + Pacer::duration(n - from, pace.rate);
}

bool ScheduledStream::may_speak(std::int64_t now) const noexcept {
    if (awaits) {
        return false;
    }
    return !is_paced() || told < most_ahead() || moment_of(told - most_ahead() + 1) <= now;
}

bool ScheduledStream::is_due(std::int64_t now) const noexcept {
    if (awaits) {
        return false;
    }
    switch (state) {
    case State::prompting:
        return true;
    case State::speaking:
        return due(now) <= now;
    default:
        return false;
    }
}

std::int64_t ScheduledStream::due(std::int64_t now) const noexcept {
    const auto enough = most_ahead() / 2;
    return !is_paced() || told <= enough ? now : std::max(now, moment_of(told - enough));
}

std::int64_t ScheduledStream::dry(std::int64_t now) const noexcept {
    return std::max(now, moment_of(told));
}

} // namespace sotto
