// The order in which streams are served.
#pragma once

#include <cstdint>
#include <tuple>

#include "core/schedule/fair_share.hpp"
#include "core/schedule/scheduled.hpp"

namespace sotto {

// Order: priority, then deadline, then shortest remaining prefill. A priority that is owed a share of the
// compute time precedes all others. See the rules of Scheduler.
class StreamOrder {
    // Lower ranks are served first.
    auto rank(const ScheduledStream& stream, std::int64_t now) const {
        const bool overdue = stream.is_overdue(now);
        return std::tuple(
            -urgency(stream),
            -stream.terms.priority,
            overdue ? stream.served_at : INT64_MAX,
            !(stream.terms.pinned && stream.state == StreamState::parked),
            stream.model.served_ns,
            stream.model.account.turns(stream.terms.group),
            stream.terms.group != stream.model.last_group,
            stream.terms.deadline,
            stream.remaining,
            stream.terms.number
        );
    }

public:
    // `share` must outlive this object.
    explicit StreamOrder(const FairShare& share) noexcept : share_(share) {}

    // Returns the stream's priority, or a value above the highest one if the stream's priority is owed a
    // share.
    int urgency(const ScheduledStream& stream) const noexcept {
        const auto priority = stream.terms.priority;
        return share_.is_owed(priority) ? SOTTO_PRIORITY_FOREGROUND + 1 : priority;
    }

    // Returns true if `left` is served before `right`.
    bool precedes(const ScheduledStream& left, const ScheduledStream& right, std::int64_t now) const {
        return rank(left, now) < rank(right, now);
    }

private:
    const FairShare& share_;
};

} // namespace sotto
