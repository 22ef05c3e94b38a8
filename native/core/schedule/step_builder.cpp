#include "core/schedule/step_builder.hpp"

#include <algorithm>
#include <tuple>

#include "core/schedule/stream_order.hpp"

namespace sotto {
namespace {

constexpr std::uint32_t kPromptPiece = 64; // tokens; chunk size of prompts with Limits::apart

bool is_in(const ScheduledStream& stream, const ScheduledModel& model, std::uint64_t group) noexcept {
    return &stream.model == &model && stream.terms.group == group;
}

void predict(Slice& slice) {
    if (slice.shares.empty()) { // no due stream can run
        slice = {};
        return;
    }
    auto& model = slice.model();
    slice.predicted = model.costs.predict(model.thread_count.now(), slice.load);
    if (slice.limit > 0) { // even the smallest step may exceed the limit
        slice.limit = std::max(slice.limit, slice.predicted);
    }
}

} // namespace

// Returns the time limit of a step that prefills: Limits::time, but at most 3/4 of the time until any paced
// stream runs out of decoded tokens.
std::int64_t StepBuilder::limit() const {
    auto limit = limits_.time;
    for (const ScheduledStream* stream : inside_) {
        if (stream->state == StreamState::speaking && stream->is_paced()) {
            const auto left = std::max(stream->dry(now_) - now_, stream->period());
            limit = std::min(limit, left > INT64_MAX / 4 ? left / 4 * 3 : left * 3 / 4);
        }
    }
    return limit;
}

// Collects the streams to prefill in prompts_, in scheduling order. Returns the sum of their remaining prompt
// tokens.
std::uint64_t StepBuilder::choose_prompts(const ScheduledModel& model, std::uint64_t group) {
    std::uint64_t remaining = 0;
    for (ScheduledStream* stream : inside_) {
        if (is_in(*stream, model, group) && stream->state == StreamState::prompting && !stream->awaits) {
            prompts_.push_back(stream);
            remaining += stream->remaining;
        }
    }
    const StreamOrder order(share_);
    std::ranges::sort(prompts_, [&](const ScheduledStream* left, const ScheduledStream* right) {
        return order.precedes(*left, *right, now_);
    });
    return remaining;
}

// Adds the decoding streams that are due or, if the step prefills nothing, all that may_speak().
void StepBuilder::add_answers(Slice& slice, const ScheduledModel& model, std::uint64_t group) const {
    for (ScheduledStream* stream : inside_) {
        const bool speaks =
            is_in(*stream, model, group) && stream->state == StreamState::speaking && !stream->awaits;
        if (speaks && (prompts_.empty() ? stream->may_speak(now_) : stream->due(now_) <= now_)) {
            slice.shares.push_back({stream, 0});
            slice.load.add_answer(stream->context());
        }
    }
}

Slice StepBuilder::batch(ScheduledModel& model, std::uint64_t group) {
    Slice slice;
    slice.kind = Slice::Kind::step;
    model.last_group = group;
    const auto remaining = choose_prompts(model, group);
    add_answers(slice, model, group);
    if (!prompts_.empty()) {
        slice.limit = limit();
        const auto& first = *prompts_.front();
        const auto most = model.traits.step_tokens;
        const auto room = most > 0 ? most - std::min(most - 1, slice.load.answers) : UINT16_MAX;
        const auto tokens = std::max(
            model.costs.prompt_tokens(
                model.thread_count.now(),
                slice.load,
                first.context(),
                slice.limit,
                static_cast<std::uint32_t>(std::min<std::uint64_t>(room, remaining))
            ),
            model.traits.min_step_tokens
        );
        add_prompts(slice, tokens);
    }
    predict(slice);
    return slice;
}

// Distributes `tokens` among the chosen prompts, in order. A stream whose priority is owed a share of the
// compute time gets at most a quarter of `tokens` if there are other prompts.
void StepBuilder::add_prompts(Slice& slice, std::uint32_t tokens) const {
    constexpr std::uint32_t kOwed = 4;
    const auto owed = prompts_.size() > 1 ? std::max(tokens / kOwed, 1U) : tokens;
    for (ScheduledStream* stream : prompts_) {
        const bool is_owed = share_.is_owed(stream->terms.priority);
        const auto share = std::min({tokens, stream->remaining, is_owed ? owed : tokens});
        if (share == 0) {
            break;
        }
        slice.load.add_prompt(share, stream->context());
        slice.shares.push_back({stream, share});
        tokens -= share;
    }
}

Slice StepBuilder::lone(ScheduledModel& model) const {
    ScheduledStream* chosen = nullptr;
    const StreamOrder order(share_);
    const auto key = [&](const ScheduledStream& stream) {
        return std::tuple(-order.urgency(stream), stream.served);
    };
    for (ScheduledStream* stream : inside_) {
        const bool due = &stream->model == &model && stream->is_due(now_);
        if (due && (chosen == nullptr || key(*stream) < key(*chosen))) {
            chosen = stream;
        }
    }
    Slice slice;
    slice.kind = Slice::Kind::step;
    std::uint32_t tokens = 0;
    if (chosen->state == StreamState::prompting) {
        const auto most = model.traits.step_tokens;
        slice.limit = limit();
        tokens = limits_.apart ? kPromptPiece - chosen->context() % kPromptPiece
                               : model.costs.prompt_tokens(
                                     model.thread_count.now(),
                                     {},
                                     chosen->context(),
                                     slice.limit,
                                     most > 0 ? most : UINT16_MAX
                                 );
        tokens = std::min({tokens, chosen->remaining, most > 0 ? most : UINT32_MAX});
        slice.load.add_prompt(tokens, chosen->context());
    } else {
        slice.load.add_answer(chosen->context());
    }
    slice.shares = {{chosen, tokens}};
    model.last_group = chosen->terms.group;
    predict(slice);
    return slice;
}

} // namespace sotto
