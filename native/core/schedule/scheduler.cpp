#include "core/schedule/scheduler.hpp"

#include <algorithm>

#include "core/schedule/step_builder.hpp"
#include "core/schedule/stream_order.hpp"
#include "platform/clock.hpp"

namespace sotto {
namespace {

// Returns true if a stream without a slot may get one, by preemption if necessary.
bool may_enter(const ScheduledStream& stream) {
    const auto& model = stream.model;
    return !stream.waits_for_room || model.has_room() ||
           (stream.terms.priority > model.least_priority && model.traits.parks);
}

void note_progress(ScheduledStream& stream) noexcept {
    stream.model.account.add(stream.terms.priority, stream.terms.group, stream.take_progress());
}

} // namespace

void Scheduler::add(ScheduledStream& stream) {
    auto& model = stream.model;
    const auto least = streams_.min_served_ns();
    model.account.reserve();
    const bool first = streams_.reserve(stream);
    if (observer_ != nullptr) {
        observer_->added(stream);
    }
    if (first) { // a model is not owed compute time for the time without streams
        model.served_ns = streams_.empty() ? 0 : std::max(model.served_ns, least);
        model.account.reset(model.served_ns);
    }
    model.account.enter(stream.terms.group);
    share_.arrived(stream.terms.priority);
    streams_.add(stream);
    if (observer_ != nullptr) {
        observer_->changed(stream);
    }
}

void Scheduler::remove(ScheduledStream& stream) noexcept {
    if (stream.where == ScheduledStream::Where::nowhere) {
        return;
    }
    if (observer_ != nullptr) {
        observer_->changed(stream);
    }
    auto& model = stream.model;
    note_progress(stream);
    model.account.leave(stream.terms.group, model.served_ns, share_);
    share_.left(stream.terms.priority);
    if (streams_.remove(stream)) {
        model.account.charge(model.served_ns, share_);
    }
    if (observer_ != nullptr) {
        observer_->removed(stream);
    }
}

void Scheduler::changed(ScheduledStream& stream) noexcept {
    if (stream.where == ScheduledStream::Where::nowhere) {
        return;
    }
    if (observer_ != nullptr) {
        observer_->changed(stream);
    }
    streams_.enter(stream); // out of its queue; requeue() then puts the stream into the right one
    streams_.requeue();
}

// Returns the stream to preempt for `stream`: among the streams of lower priority, the lowest priority, then
// the latest arrival; null if none.
ScheduledStream* Scheduler::victim_for(const ScheduledStream& stream, std::int64_t now) const {
    if (!stream.model.traits.parks) {
        return nullptr;
    }
    ScheduledStream* victim = nullptr;
    for (ScheduledStream* other : streams_.inside()) {
        const bool has_slot = &other->model == &stream.model && !other->is_outside() && other->may_park(now);
        if (has_slot && other->terms.priority < stream.terms.priority &&
            (victim == nullptr || other->terms.priority <= victim->terms.priority)) {
            victim = other;
        }
    }
    return victim;
}

// Computes for each model the lowest priority that may be preempted, and the priorities that have a stream
// that must not be preempted yet (see is_tenant()).
void Scheduler::survey(std::int64_t now) noexcept {
    for (const auto& queue : streams_.queues()) {
        queue->model->least_priority = SOTTO_PRIORITY_FOREGROUND;
        queue->model->has_tenant = {};
    }
    for (const ScheduledStream* stream : streams_.inside()) {
        auto& model = stream->model;
        if (!stream->is_outside() && stream->may_park(now)) {
            model.least_priority = std::min(model.least_priority, stream->terms.priority);
        }
        auto& has_tenant = model.has_tenant[index_of(stream->terms.priority)];
        has_tenant = has_tenant || stream->is_tenant(now);
    }
}

// Charges compute time used since the last decision.
void Scheduler::settle(std::int64_t now) noexcept {
    for (ScheduledStream* stream : streams_.inside()) {
        note_progress(*stream);
    }
    for (const auto& queue : streams_.queues()) {
        queue->model->account.charge(queue->model->served_ns, share_);
    }
    share_.settle(now);
}

void Scheduler::look() noexcept {
    for (ScheduledStream* stream : streams_.inside()) {
        stream->look();
    }
}

// Reports the models and the streams with a slot to the observer. Streams without a slot change only through
// changed(), which reports them itself.
void Scheduler::report_facts() const noexcept {
    for (const auto& queue : streams_.queues()) {
        observer_->changed(*queue->model);
    }
    observer_->facts(streams_.inside());
}

Slice Scheduler::next(std::int64_t now, const Limits& limits) {
    if (observer_ == nullptr) {
        return choose(now, limits);
    }
    report_facts();
    auto slice = choose(now, limits);
    observer_->next(now, limits, slice);
    return slice;
}

Slice Scheduler::choose(std::int64_t now, const Limits& limits) {
    streams_.requeue();
    settle(now);
    survey(now);
    ScheduledStream* enters = next_entering(now);
    ScheduledStream* steps = next_inside(now);
    if (enters == nullptr && steps == nullptr) {
        return {};
    }
    // Never opens two streams in a row while an equally urgent stream is due for a step.
    const StreamOrder order(share_);
    const bool lets_in = enters != nullptr &&
                         (steps == nullptr || !entered_ || order.urgency(*enters) > order.urgency(*steps));
    auto slice = lets_in ? enter(*enters, now) : step(*steps, now, limits);
    entered_ = lets_in;
    ++slices_;
    for (const auto& share : slice.shares) {
        share.stream->served = slices_;
        share.stream->served_at = now;
    }
    return slice;
}

// Returns the stream that gets a slot next; null if no waiting stream may get one.
ScheduledStream* Scheduler::next_entering(std::int64_t now) const {
    const StreamOrder order(share_);
    ScheduledStream* first = nullptr;
    for (const auto& queue : streams_.queues()) {
        for (const auto* kind : {&queue->at_once, &queue->for_room}) {
            for (const auto& streams : *kind) {
                ScheduledStream* best = streams.best(now);
                if (best != nullptr && may_enter(*best) &&
                    (first == nullptr || order.precedes(*best, *first, now))) {
                    first = best;
                }
            }
        }
    }
    return first;
}

ScheduledStream* Scheduler::next_unprepared(std::int64_t now, bool large) const {
    constexpr std::uint32_t kAtLeast = 2;
    const StreamOrder order(share_);
    ScheduledStream* first = nullptr;
    for (const auto& queue : streams_.queues()) {
        for (std::size_t i = 0; i < kPriorities; ++i) {
            if (streams_.prepared_ahead(*queue, i) >= std::max(kAtLeast, queue->model->traits.streams)) {
                continue;
            }
            for (std::size_t size = 0; size < (large ? 2 : 1); ++size) {
                ScheduledStream* best = queue->unprepared[size][i].best(now);
                if (best != nullptr && (first == nullptr || order.precedes(*best, *first, now))) {
                    first = best;
                }
            }
        }
    }
    return first;
}

// Returns the stream that comes first in scheduling order among the streams that have a slot and are due;
// null if no such stream exists. The next step runs on the model of this stream.
ScheduledStream* Scheduler::next_inside(std::int64_t now) const {
    const StreamOrder order(share_);
    ScheduledStream* first = nullptr;
    for (ScheduledStream* stream : streams_.inside()) {
        if (stream->is_due(now) && (first == nullptr || order.precedes(*stream, *first, now))) {
            first = stream;
        }
    }
    return first;
}

Slice Scheduler::enter(ScheduledStream& stream, std::int64_t now) {
    const auto& model = stream.model;
    Slice slice;
    slice.kind = stream.state == StreamState::parked ? Slice::Kind::unpark : Slice::Kind::open;
    slice.shares = {{&stream, 0}};
    const bool has_slot = !stream.waits_for_room || model.has_room();
    slice.parks = has_slot ? nullptr : victim_for(stream, now);
    const bool owed = share_.is_owed(stream.terms.priority);
    stream.tenure = {owed ? now : 0, stream.generated};
    streams_.enter(stream);
    return slice;
}

// Builds a step for the model and the adapter group of `first`.
Slice Scheduler::step(const ScheduledStream& first, std::int64_t now, const Limits& limits) {
    StepBuilder builder(streams_.inside(), share_, now, limits);
    const bool together = first.model.traits.batches && !limits.apart;
    return together ? builder.batch(first.model, first.terms.group) : builder.lone(first.model);
}

bool Scheduler::goes_on(std::int64_t now) {
    if (observer_ != nullptr) {
        report_facts();
    }
    streams_.requeue();
    survey(now);
    const bool all = next_entering(now) == nullptr &&
                     std::ranges::all_of(streams_.inside(), [&](const ScheduledStream* stream) {
                         const bool speaks = stream->state == StreamState::speaking && !stream->is_paced();
                         return stream->busy && !stream->is_outside() ? speaks : !stream->is_due(now);
                     });
    if (observer_ != nullptr) {
        observer_->ahead(now, all);
    }
    return all;
}

std::int64_t Scheduler::wake(std::int64_t now) const {
    auto earliest = kNever;
    for (const ScheduledStream* stream : streams_.inside()) {
        if (stream->state == StreamState::speaking && !stream->busy && !stream->awaits) {
            earliest = std::min(earliest, stream->due(now));
        }
    }
    return earliest;
}

} // namespace sotto
