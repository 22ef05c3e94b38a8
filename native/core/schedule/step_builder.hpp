// Puts a step together: which streams it decodes, and how much of which prompts it prefills.
#pragma once

#include <cstdint>
#include <vector>

#include "core/schedule/fair_share.hpp"
#include "core/schedule/slice.hpp"

namespace sotto {

// For one decision.
class StepBuilder {
public:
    // `inside`: the streams with a slot. `inside` and `share` outlive this object.
    StepBuilder(
        const std::vector<ScheduledStream*>& inside,
        const FairShare& share,
        std::int64_t now,
        const Limits& limits
    )
        : inside_(inside), share_(share), now_(now), limits_(limits) {}

    // A step for all streams of a group. Kind::none if none of them may do anything now.
    Slice batch(ScheduledModel& model, std::uint64_t group);
    // A step for one stream: of the most urgent ones that are due the one that has waited longest. There is
    // at least one that is due.
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
    std::vector<ScheduledStream*> prompts_; // that the step may prefill, in their order
};

} // namespace sotto
