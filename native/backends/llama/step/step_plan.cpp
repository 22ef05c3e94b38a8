// Plans a step: chooses the tokens that each stream computes.
#include "step/step_plan.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

Stream& stream_of(const sotto_step_item& work) {
    return *static_cast<Stream*>(work.stream);
}

// Returns true if the step may prefill the stream.
bool prefills_in(const sotto_step& step, const KvStream& stream) {
    return stream.tokens.in_prompt() &&
           std::any_of(step.items, step.items + step.count, [&](const sotto_step_item* work) {
               const auto& other = stream_of(*work);
               return &other.kv == &stream && other.chosen.finish() == SOTTO_FINISH_NONE && work->tokens > 0;
           });
}

// Returns the number of tokens that the stream can compute if
// the batch has room. Reports an error if the stream is parked.
std::uint32_t wanted_of(sotto_step_item& work, KvCache& kv, const Prefills& prefills) {
    auto& stream = stream_of(work);
    if (stream.kv.parked()) {
        reset_item(work, stream);
        fail_stream(
            work, stream, SOTTO_ERROR_STATE, "the stream is parked: unpark the stream before the step"
        );
        return 0;
    }
    const bool prompt = stream.kv.tokens.in_prompt();
    // Must precede reset_item(): waits() may copy a prefix, which reduces the tokens that reset_item()
    // reports.
    const bool waiting = prompt && kv.waits(stream.kv, prefills);
    reset_item(work, stream);
    if (waiting || stream.chosen.finish() != SOTTO_FINISH_NONE) {
        return 0;
    }
    return prompt ? std::min(work.tokens, stream.max_piece()) : stream.chosen.empty() ? 1 : 0;
}

} // namespace

StepPlan plan_step(const sotto_step& step, KvCache& kv, std::uint32_t batch) {
    const Prefills prefills = [&step](const KvStream& stream) { return prefills_in(step, stream); };
    StepPlan plan;
    plan.items.reserve(step.count);
    for (const bool prompts : {false, true}) {
        for (std::uint32_t i = 0; i < step.count; ++i) {
            auto& work = *step.items[i];
            auto& stream = stream_of(work);
            auto& sequence = stream.kv.tokens;
            if (sequence.in_prompt() != prompts) {
                continue;
            }
            const auto wanted = wanted_of(work, kv, prefills);
            auto* stretch = sequence.stretch_at(sequence.held());
            const auto text = static_cast<std::uint32_t>(sequence.text_ahead());
            if (const auto tokens = std::min({wanted, text, batch}); tokens > 0) {
                plan.items.push_back({&work, &stream, tokens});
                batch -= tokens;
            } else if (stretch != nullptr && wanted > 0 && plan.media.stretch == nullptr) {
                plan.media = {&work, &stream, wanted, stretch};
            }
        }
    }
    std::ranges::sort(plan.items, {}, [](const StepItem& item) { return item.stream->kv.slot; });
    return plan;
}

} // namespace sotto::llama
