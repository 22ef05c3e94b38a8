#include "core/schedule/scheduler.hpp"

#include <algorithm>
#include <tuple>

#include "platform/clock.hpp"

namespace sotto {
namespace {

constexpr std::uint32_t kPiece = 64; // of a prompt, where pieces are always the same

} // namespace

// Whether a stream without a slot may get one, at the expense of others if need be.
bool Scheduler::may_enter(const ScheduledStream& stream) {
    const auto& model = stream.model;
    return !stream.waits_for_room || model.has_room() ||
           (stream.terms.priority > model.least_priority && model.traits.parks);
}

int Scheduler::urgency(const ScheduledStream& stream) const noexcept {
    const auto priority = stream.terms.priority;
    return share_.is_owed(priority) ? SOTTO_PRIORITY_FOREGROUND + 1 : priority;
}

// The smaller goes first.
auto Scheduler::rank(const ScheduledStream& stream, std::int64_t now) const {
    const bool overdue = stream.is_overdue(now);
    return std::tuple(
        -urgency(stream),
        -stream.terms.priority,
        overdue ? stream.served_at : INT64_MAX,
        !(stream.terms.pinned && stream.state == StreamState::parked),
        stream.model.served_ns,
        stream.model.turns(stream.terms.group),
        stream.terms.group != stream.model.last_group,
        stream.terms.deadline,
        stream.remaining,
        stream.terms.number
    );
}

// The stream whose slot another may have: of those of lower priority, the lowest, which came last.
ScheduledStream* Scheduler::victim_for(const ScheduledStream& stream, std::int64_t now) const {
    if (!stream.model.traits.parks) {
        return nullptr;
    }
    ScheduledStream* victim = nullptr;
    for (ScheduledStream* other : inside_) {
        const bool has_slot = &other->model == &stream.model && !other->is_outside() && other->may_park(now);
        if (has_slot && other->terms.priority < stream.terms.priority &&
            (victim == nullptr || other->terms.priority <= victim->terms.priority)) {
            victim = other;
        }
    }
    return victim;
}

// Notes, of each model, the lowest priority that has to make room for higher ones, and which priorities have
// a slot that they were owed.
void Scheduler::survey(std::int64_t now) noexcept {
    for (const auto& queue : queues_) {
        queue->model->least_priority = SOTTO_PRIORITY_FOREGROUND;
        queue->model->has_tenant = {};
    }
    for (const ScheduledStream* stream : inside_) {
        auto& model = stream->model;
        if (!stream->is_outside() && stream->may_park(now)) {
            model.least_priority = std::min(model.least_priority, stream->terms.priority);
        }
        auto& has_tenant = model.has_tenant[index_of(stream->terms.priority)];
        has_tenant = has_tenant || stream->is_tenant(now);
    }
}

bool Scheduler::is_due(const ScheduledStream& stream, std::int64_t now) {
    switch (stream.state) {
    case StreamState::prompting:
        return true;
    case StreamState::speaking:
        return stream.due(now) <= now;
    default:
        return false;
    }
}

void Scheduler::look() noexcept {
    for (ScheduledStream* stream : inside_) {
        stream->look();
    }
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
    sync();
    settle(now);
    survey(now);
    ScheduledStream* enters = next_entering(now);
    ScheduledStream* steps = next_inside(now);
    if (enters == nullptr && steps == nullptr) {
        return {};
    }
    // Not two enter in a row while others that matter as much have something to do.
    const bool lets_in =
        enters != nullptr && (steps == nullptr || !entered_ || urgency(*enters) > urgency(*steps));
    Slice slice;
    if (lets_in) {
        slice = enter(*enters, now);
    } else {
        auto& model = steps->model;
        const bool together = model.traits.batches && !limits.apart;
        slice = together ? step(model, steps->terms.group, now, limits) : lone_step(model, now, limits);
    }
    entered_ = lets_in;
    ++slices_;
    for (const auto& share : slice.shares) {
        share.stream->served = slices_;
        share.stream->served_at = now;
    }
    return slice;
}

// The stream that gets a slot next; null if none may.
ScheduledStream* Scheduler::next_entering(std::int64_t now) const {
    ScheduledStream* first = nullptr;
    for (const auto& queue : queues_) {
        for (const auto* kind : {&queue->at_once, &queue->for_room}) {
            for (const auto& streams : *kind) {
                ScheduledStream* best = streams.best(now);
                if (best != nullptr && may_enter(*best) &&
                    (first == nullptr || rank(*best, now) < rank(*first, now))) {
                    first = best;
                }
            }
        }
    }
    return first;
}

// Streams of a priority that are prepared, or being prepared, and have had no slot yet.
std::size_t Scheduler::prepared_ahead(const Queue& queue, std::size_t priority) const noexcept {
    const auto outside = queue.for_room[priority].newcomers() + queue.at_once[priority].newcomers();
    const auto inside = std::ranges::count_if(inside_, [&](const ScheduledStream* stream) {
        return &stream->model == queue.model && stream->state == StreamState::waiting &&
               index_of(stream->terms.priority) == priority;
    });
    return outside + static_cast<std::size_t>(inside);
}

ScheduledStream* Scheduler::next_unprepared(std::int64_t now, bool large) const {
    constexpr std::uint32_t kAtLeast = 2;
    ScheduledStream* first = nullptr;
    for (const auto& queue : queues_) {
        for (std::size_t i = 0; i < kPriorities; ++i) {
            if (prepared_ahead(*queue, i) >= std::max(kAtLeast, queue->model->traits.streams)) {
                continue;
            }
            for (std::size_t size = 0; size < (large ? 2 : 1); ++size) {
                ScheduledStream* best = queue->unprepared[size][i].best(now);
                if (best != nullptr && (first == nullptr || rank(*best, now) < rank(*first, now))) {
                    first = best;
                }
            }
        }
    }
    return first;
}

// The stream with a slot whose model takes the next step; null if none is due.
ScheduledStream* Scheduler::next_inside(std::int64_t now) const {
    ScheduledStream* first = nullptr;
    for (ScheduledStream* stream : inside_) {
        if (is_due(*stream, now) && (first == nullptr || rank(*stream, now) < rank(*first, now))) {
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
    take(stream);
    return slice;
}

// What a step with prompts may take: no more than the mode allows, and no longer than those whose speech is
// paced have something left to say.
std::int64_t Scheduler::limit_of(std::int64_t now, const Limits& limits) const {
    auto limit = limits.time;
    for (const ScheduledStream* stream : inside_) {
        if (stream->state == StreamState::speaking && stream->is_paced()) {
            const auto left = std::max(stream->dry(now) - now, stream->period());
            limit = std::min(limit, left > INT64_MAX / 4 ? left / 4 * 3 : left * 3 / 4);
        }
    }
    return limit;
}

Slice Scheduler::step(ScheduledModel& model, std::uint64_t group, std::int64_t now, const Limits& limits) {
    Slice slice;
    slice.kind = Slice::Kind::step;
    chosen_.clear();
    model.last_group = group;
    std::uint64_t remaining = 0;
    const auto may_go = [&](const ScheduledStream& stream, StreamState state) {
        return &stream.model == &model && stream.terms.group == group && stream.state == state;
    };
    for (ScheduledStream* stream : inside_) {
        if (may_go(*stream, StreamState::prompting)) {
            chosen_.push_back(stream);
            remaining += stream->remaining;
        }
    }
    std::sort(chosen_.begin(), chosen_.end(), [&](const ScheduledStream* left, const ScheduledStream* right) {
        return rank(*left, now) < rank(*right, now);
    });
    for (ScheduledStream* stream :
         inside_) { // who speaks: those that are due, and if there is nothing else, all that may
        const bool speaks = may_go(*stream, StreamState::speaking);
        if (speaks && (chosen_.empty() ? stream->may_speak(now) : stream->due(now) <= now)) {
            slice.shares.push_back({stream, 0});
            slice.load.add_answer(stream->context());
        }
    }
    if (!chosen_.empty()) {
        slice.limit = limit_of(now, limits);
        const auto& first = *chosen_.front();
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

// Shares so many tokens out among the prompts that were chosen. One that goes first because its priority is
// owed leaves most of them to the others.
void Scheduler::add_prompts(Slice& slice, std::uint32_t tokens) const {
    constexpr std::uint32_t kOwed = 4;
    const auto owed = chosen_.size() > 1 ? std::max(tokens / kOwed, 1U) : tokens;
    for (ScheduledStream* stream : chosen_) {
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

// A step for one stream: the most urgent one that has waited longest.
Slice Scheduler::lone_step(ScheduledModel& model, std::int64_t now, const Limits& limits) {
    ScheduledStream* chosen = nullptr;
    const auto key = [&](const ScheduledStream& stream) {
        return std::tuple(-urgency(stream), stream.served);
    };
    for (ScheduledStream* stream : inside_) {
        const bool due = &stream->model == &model && is_due(*stream, now);
        if (due && (chosen == nullptr || key(*stream) < key(*chosen))) {
            chosen = stream;
        }
    }
    Slice slice;
    slice.kind = Slice::Kind::step;
    std::uint32_t tokens = 0;
    if (chosen->state == StreamState::prompting) {
        const auto most = model.traits.step_tokens;
        slice.limit = limit_of(now, limits);
        tokens = limits.apart ? kPiece - chosen->context() % kPiece
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

void Scheduler::predict(Slice& slice) {
    if (slice.shares.empty()) { // nobody that is due may do anything
        slice = {};
        return;
    }
    auto& model = slice.model();
    slice.predicted = model.costs.predict(model.thread_count.now(), slice.load);
    if (slice.limit > 0) { // the least that a step can do may be more than that
        slice.limit = std::max(slice.limit, slice.predicted);
    }
}

bool Scheduler::goes_on(std::int64_t now) {
    if (observer_ != nullptr) {
        report_facts();
    }
    sync();
    survey(now);
    const bool all = next_entering(now) == nullptr &&
                     std::all_of(inside_.begin(), inside_.end(), [&](const ScheduledStream* stream) {
                         const bool speaks = stream->state == StreamState::speaking && !stream->is_paced();
                         return stream->busy && !stream->is_outside() ? speaks : !is_due(*stream, now);
                     });
    if (observer_ != nullptr) {
        observer_->ahead(now, all);
    }
    return all;
}

std::int64_t Scheduler::wake(std::int64_t now) const {
    auto earliest = kNever;
    for (const ScheduledStream* stream : inside_) {
        if (stream->state == StreamState::speaking && !stream->busy) {
            earliest = std::min(earliest, stream->due(now));
        }
    }
    return earliest;
}

} // namespace sotto
