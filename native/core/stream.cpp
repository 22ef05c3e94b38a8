#include "core/stream.hpp"

#include <algorithm>
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
    : slot(slot), op(slot.asked.op), body(std::move(slot.asked.body)), prompted(std::move(asked)),
      chunked((slot.asked.flags & SOTTO_REQUEST_CHUNKS) != 0),
      writer(op, slot.id.load(), prompted.model, std::time(nullptr)), said(prompted.answers),
      left(prompted.answers) {}

Stream::Stream(
    std::shared_ptr<Reply> shared, std::uint32_t index, ModelEntry& entry, float target_tps, std::int64_t now
)
    : reply(std::move(shared)), index(index), at_once(is_at_once(reply->op)), entry(entry),
      answer(reply->prompted), own_tps_(reply->slot.asked.target_tps) {
    pacer.set_rate(own_tps_ > 0 ? own_tps_ : target_tps, now);
}

void Stream::retune(float target_tps, std::int64_t now) noexcept {
    if (own_tps_ == 0) {
        pacer.set_rate(target_tps, now);
    }
}

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
        pacer.spoke(now);
    }
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
