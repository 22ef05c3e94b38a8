// Observer of a scheduler's inputs and decisions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/scheduled.hpp"

namespace sotto {

struct Limits;
struct Slice;

// All calls come from the scheduler's thread, in the order of events.
class SchedulerObserver {
public:
    // A stream was added; changed() reports its facts afterwards.
    virtual void added(const ScheduledStream& stream) noexcept = 0;
    virtual void removed(const ScheduledStream& stream) noexcept = 0;
    // Facts of a model or a stream may have changed since the last report.
    virtual void changed(const ScheduledModel& model) noexcept = 0;
    virtual void changed(const ScheduledStream& stream) noexcept = 0;
    // Reports the streams that have a slot, before each decision.
    virtual void facts(const std::vector<ScheduledStream*>& streams) noexcept = 0;
    // Scheduler::next() returned `slice`.
    virtual void next(std::int64_t now, const Limits& limits, const Slice& slice) noexcept = 0;
    // Scheduler::goes_on() returned `goes_on`.
    virtual void ahead(std::int64_t now, bool goes_on) noexcept = 0;

protected:
    SchedulerObserver() = default;
    SchedulerObserver(const SchedulerObserver&) = default;
    SchedulerObserver& operator=(const SchedulerObserver&) = default;
    ~SchedulerObserver() = default;
};

} // namespace sotto
