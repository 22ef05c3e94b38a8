// Builds a step: which streams it decodes, and how many tokens of which prompts it prefills.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/fair_share.hpp"
#include "core/schedule/slice.hpp"

namespace sotto {

// An object serves one decision of the scheduler.
class StepBuilder {
public:
    // `inside`: the streams with a slot. `inside` and `share` must outlive this object.
    StepBuilder(
        const std::vector<ScheduledStream*>& inside,
        const FairShare& share,
        std::int64_t now,
        const Limits& limits
    )
        : inside_(inside), share_(share), now_(now), limits_(limits) {}

    // Builds a step for all streams of an adapter group. Returns Kind::none if no stream can run now.
    Slice batch(ScheduledModel& model, std::uint64_t group);
    // Builds a step for one stream: among the most urgent due streams, the one served longest ago.
    // At least one stream must be due.
    Slice lone(ScheduledModel& model) const;

private:
    std::uint64_t choose_prompts(const ScheduledModel& model, std::uint64_t group);
    void add_answers(Slice& slice, const ScheduledModel& model, std::uint64_t group) const;
    void add_prompts(Slice& slice, std::uint32_t tokens) const;
    std::int64_t limit() const;

    const std::vector<ScheduledStream*>& inside_;
    const FairShare& share_;
    const std::int64_t now_;
    const Limits limits_;
    std::vector<ScheduledStream*> prompts_; // streams that the step may prefill, in order
};

} // namespace sotto
