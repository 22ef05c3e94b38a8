#include "core/stream.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <utility>

namespace sotto {
namespace {

double milliseconds(std::int64_t from, std::int64_t to) noexcept {
    constexpr double kMillisecond = 1e6;
    return static_cast<double>(to - from) / kMillisecond;
}

} // namespace

Reply::Reply(Slot& slot, Prompted asked)
    : slot(slot), lanes(*slot.done->lanes), op(slot.asked.op), body(std::move(slot.asked.body)),
      prompted(std::move(asked)), chunked((slot.asked.flags & SOTTO_REQUEST_CHUNKS) != 0),
      writer(op, slot.id.load(), prompted.model, std::time(nullptr)), said(prompted.answers),
      left(prompted.answers) {}

Stream::Stream(std::shared_ptr<Reply> shared, std::uint32_t index, ModelEntry& entry, std::int64_t now)
    : reply(std::move(shared)), index(index), at_once(is_at_once(reply->op)), entry(entry),
      priority(reply->slot.asked.priority),
      deadline(reply->slot.asked.deadline_ns == 0 ? kNever : reply->slot.asked.deadline_ns),
      arrived(reply->slot.id.load(std::memory_order_relaxed)), served_at(now), answer(reply->prompted) {}

void Stream::opened(const StreamInfo& info, std::int64_t now) {
    answer.opened(info.stops, info.parsed);
    counts_.prompt = info.prompt_tokens;
    counts_.cached = std::min(info.cached_tokens, info.prompt_tokens);
    counts_.dropped = info.dropped;
    remaining = counts_.prompt - counts_.cached;
    state = remaining > 0 ? State::prompting : State::speaking;
    opened_ = now;
}

void Stream::stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept {
    remaining = left;
    state = remaining > 0 ? State::prompting : State::speaking;
    if (spoke) {
        if (counts_.generated++ == 0) {
            first_ = now;
        }
        last_ = now;
    }
}

void Stream::unparked(std::uint32_t left) noexcept {
    remaining = left;
    state = remaining > 0 ? State::prompting : State::speaking;
}

std::uint32_t Stream::context() const noexcept {
    const auto all = counts_.prompt + counts_.generated;
    return all - std::min(all, remaining);
}

int Stream::urgency(std::int64_t now) const noexcept {
    constexpr std::int64_t kLong = 3'000'000'000;
    constexpr std::int64_t kVeryLong = 10'000'000'000;
    const auto waited = now - served_at;
    const int risen = priority + (waited > kLong ? 1 : 0) + (waited > kVeryLong ? 1 : 0);
    return std::min<int>(risen, SOTTO_PRIORITY_FOREGROUND);
}

// A quarter of a second: enough for what comes between, and little to throw away.
std::uint32_t Stream::most_ahead() const noexcept {
    constexpr double kSeconds = 0.25;
    constexpr double kLeast = 2;
    constexpr double kMost = 16;
    return static_cast<std::uint32_t>(std::clamp(std::ceil(pacer().rate() * kSeconds), kLeast, kMost));
}

// When token `n` is due, by the schedule: whoever takes none, or none yet, does not stop it.
std::int64_t Stream::moment_of(std::uint32_t n) const noexcept {
    const auto told = pacer().told();
    if (n <= told) {
        return INT64_MIN;
    }
    const auto [from, begin] = told == 0 ? std::pair(1U, first_) : std::pair(told + 1, pacer().next());
    return begin + Pacer::duration(n - from, pacer().rate());
}

bool Stream::may_speak(std::int64_t now) const noexcept {
    return !is_paced() || told_ < most_ahead() || moment_of(told_ - most_ahead() + 1) <= now;
}

std::int64_t Stream::due(std::int64_t now) const noexcept {
    const auto enough = most_ahead() / 2;
    return !is_paced() || told_ <= enough ? now : std::max(now, moment_of(told_ - enough));
}

std::int64_t Stream::dry(std::int64_t now) const noexcept {
    return std::max(now, moment_of(told_));
}

Counts Stream::counts() const noexcept {
    Counts counts = counts_;
    if (counts.generated > 0) {
        counts.prompt_ms = milliseconds(opened_, first_);
        counts.generated_ms = milliseconds(first_, last_);
        counts.first_token_ms = milliseconds(reply->slot.submitted_ns, first_);
    }
    return counts;
}

} // namespace sotto
