#include "core/schedule/waiting.hpp"

#include <utility>

#include "core/schedule/scheduled.hpp"

namespace sotto {

void WaitingStreams::prepare(ScheduledStream& stream) {
    WaitingStreams maker;
    auto& entry = stream.waiting;
    entry.rank = maker.ranks_.insert({{}, &stream});
    entry.age = maker.ages_.insert({{}, &stream});
    entry.kept_rank = maker.ranks_.extract(entry.rank);
    entry.kept_age = maker.ages_.extract(entry.age);
}

void WaitingStreams::put(ScheduledStream& stream) noexcept {
    auto& entry = stream.waiting;
    const auto& terms = stream.terms;
    const bool returns = terms.pinned && stream.state == StreamState::parked;
    entry.kept_rank.value().key = {!returns, terms.deadline, stream.remaining, terms.number};
    entry.kept_age.value().key = {stream.served_at, terms.number};
    entry.rank = ranks_.insert(std::move(entry.kept_rank));
    entry.age = ages_.insert(std::move(entry.kept_age));
    newcomers_ += stream.was_parked ? 0 : 1;
}

void WaitingStreams::take(ScheduledStream& stream) noexcept {
    auto& entry = stream.waiting;
    entry.kept_rank = ranks_.extract(entry.rank);
    entry.kept_age = ages_.extract(entry.age);
    newcomers_ -= stream.was_parked ? 0 : 1;
}

ScheduledStream* WaitingStreams::best(std::int64_t now) const noexcept {
    if (empty()) {
        return nullptr;
    }
    auto* const oldest = ages_.begin()->stream;
    return oldest->is_overdue(now) ? oldest : ranks_.begin()->stream;
}

const ScheduledStream* WaitingStreams::oldest() const noexcept {
    return empty() ? nullptr : ages_.begin()->stream;
}

} // namespace sotto
