#include "core/schedule/scheduler.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "core/schedule/recorder.hpp"
#include "platform/clock.hpp"

namespace sotto {
namespace {

constexpr std::uint32_t kPiece = 64; // of a prompt, where pieces are always the same

bool has_room(const ScheduledModel& model) {
    return model.open_streams < model.traits.streams;
}

bool needs_no_room(const ScheduledStream& stream) {
    return stream.terms.at_once || stream.expected;
}

// What is smaller goes first.
auto rank(const ScheduledStream& stream, std::int64_t now) {
    return std::tuple(
        -stream.urgency(now),
        -stream.terms.priority,
        !(stream.terms.pinned && stream.state == StreamState::parked),
        stream.model.served_ns,
        stream.terms.deadline,
        stream.remaining,
        stream.terms.number
    );
}

} // namespace

void Scheduler::add(ScheduledStream& stream) {
    if (recorder_ != nullptr) {
        recorder_->added(stream);
    }
    streams_.push_back(&stream);
    const auto& model = stream.model;
    const bool first = std::none_of(streams_.begin(), streams_.end(), [&](const ScheduledStream* other) {
        return other != &stream && &other->model == &model;
    });
    if (first) { // a model that did nothing for a while is not owed that time
        auto least = std::numeric_limits<std::int64_t>::max();
        for (const ScheduledStream* other : streams_) {
            least = other == &stream ? least : std::min(least, other->model.served_ns);
        }
        stream.model.served_ns = streams_.size() == 1 ? 0 : std::max(model.served_ns, least);
    }
}

void Scheduler::remove(ScheduledStream& stream) {
    if (const auto found = std::find(streams_.begin(), streams_.end(), &stream); found != streams_.end()) {
        streams_.erase(found);
        if (recorder_ != nullptr) {
            recorder_->removed(stream);
        }
    }
}

// The stream whose place another may have: of those that matter less, the one that matters least and came
// last.
ScheduledStream* Scheduler::victim_for(const ScheduledStream& stream) const {
    if (!stream.model.traits.parks) {
        return nullptr;
    }
    ScheduledStream* victim = nullptr;
    for (ScheduledStream* other : streams_) {
        const bool has_place = &other->model == &stream.model && !other->is_outside() && other->may_park();
        if (has_place && other->terms.priority < stream.terms.priority &&
            (victim == nullptr || other->terms.priority <= victim->terms.priority)) {
            victim = other;
        }
    }
    return victim;
}

bool Scheduler::may_enter(const ScheduledStream& stream) const {
    return needs_no_room(stream) || has_room(stream.model) ||
           (stream.terms.priority > stream.model.least_priority && stream.model.traits.parks);
}

// Notes, of each model, how little the least of those that have a place matters.
void Scheduler::survey() const {
    for (const ScheduledStream* stream : streams_) {
        stream->model.least_priority = SOTTO_PRIORITY_FOREGROUND;
    }
    for (const ScheduledStream* stream : streams_) {
        if (!stream->is_outside() && stream->may_park()) {
            stream->model.least_priority = std::min(stream->model.least_priority, stream->terms.priority);
        }
    }
}

bool Scheduler::is_due(const ScheduledStream& stream, std::int64_t now) const {
    switch (stream.state) {
    case StreamState::waiting:
    case StreamState::parked:
        return may_enter(stream);
    case StreamState::prompting:
        return true;
    case StreamState::speaking:
        return stream.due(now) <= now;
    case StreamState::over:
        break;
    }
    return false;
}

void Scheduler::look() noexcept {
    for (ScheduledStream* stream : streams_) {
        stream->look();
    }
}

Slice Scheduler::next(std::int64_t now, const Limits& limits) {
    if (recorder_ == nullptr) {
        return choose(now, limits);
    }
    recorder_->facts(streams_);
    auto slice = choose(now, limits);
    recorder_->next(now, limits, slice);
    return slice;
}

Slice Scheduler::choose(std::int64_t now, const Limits& limits) {
    survey();
    ScheduledStream* enters = most_urgent(now, true);
    ScheduledStream* steps = most_urgent(now, false);
    if (enters == nullptr && steps == nullptr) {
        return {};
    }
    // Not two enter in a row while others that matter as much have something to do.
    const bool lets_in =
        enters != nullptr && (steps == nullptr || !entered_ || enters->urgency(now) > steps->urgency(now));
    Slice slice;
    if (lets_in) {
        slice = enter(*enters);
    } else {
        auto& model = steps->model;
        const bool together = model.traits.batches && !limits.apart;
        slice = together ? step(model, now, limits) : lone_step(model, now, limits);
    }
    entered_ = lets_in;
    ++slices_;
    for (const auto& share : slice.shares) {
        share.stream->served = slices_;
        share.stream->served_at = now;
    }
    return slice;
}

// Of those that are due outside, or inside: without a place in their model, or with one.
ScheduledStream* Scheduler::most_urgent(std::int64_t now, bool outside) const {
    ScheduledStream* first = nullptr;
    for (ScheduledStream* stream : streams_) {
        if (stream->is_outside() == outside && is_due(*stream, now) &&
            (first == nullptr || rank(*stream, now) < rank(*first, now))) {
            first = stream;
        }
    }
    return first;
}

Slice Scheduler::enter(ScheduledStream& stream) const {
    Slice slice;
    slice.kind = stream.state == StreamState::parked ? Slice::Kind::unpark : Slice::Kind::open;
    slice.shares = {{&stream, 0}};
    slice.parks = needs_no_room(stream) || has_room(stream.model) ? nullptr : victim_for(stream);
    return slice;
}

// What a step with prompts may take: no more than the mode allows, and no longer than those whose speech is
// paced have something left to say.
std::int64_t Scheduler::limit_of(std::int64_t now, const Limits& limits) const {
    auto limit = limits.time;
    for (const ScheduledStream* stream : streams_) {
        if (stream->state == StreamState::speaking && stream->is_paced()) {
            limit = std::min(limit, std::max(stream->dry(now) - now, stream->period()) * 3 / 4);
        }
    }
    return limit;
}

Slice Scheduler::step(ScheduledModel& model, std::int64_t now, const Limits& limits) {
    Slice slice;
    slice.kind = Slice::Kind::step;
    chosen_.clear();
    for (ScheduledStream* stream : streams_) {
        if (&stream->model == &model && stream->state == StreamState::prompting) {
            chosen_.push_back(stream);
        }
    }
    std::sort(chosen_.begin(), chosen_.end(), [&](const ScheduledStream* left, const ScheduledStream* right) {
        return rank(*left, now) < rank(*right, now);
    });
    for (ScheduledStream* stream :
         streams_) { // who speaks: those that are due, and if there is nothing else, all that may
        const bool speaks = &stream->model == &model && stream->state == StreamState::speaking;
        if (speaks && (chosen_.empty() ? stream->may_speak(now) : stream->due(now) <= now)) {
            slice.shares.push_back({stream, 0});
            slice.load.add_answer(stream->context());
        }
    }
    if (!chosen_.empty()) {
        slice.limit = limit_of(now, limits);
        const auto most = model.traits.step_tokens;
        const auto& first = *chosen_.front();
        auto tokens = std::max(
            model.costs.prompt_tokens(
                model.thread_count.now(),
                slice.load,
                first.context(),
                slice.limit,
                most > 0 ? most - std::min(most - 1, slice.load.answers) : UINT16_MAX
            ),
            model.traits.step_least
        );
        for (ScheduledStream* stream : chosen_) {
            const auto share = std::min(tokens, stream->remaining);
            if (share == 0) {
                break;
            }
            slice.load.add_prompt(share, stream->context());
            slice.shares.push_back({stream, share});
            tokens -= share;
        }
    }
    predict(slice);
    return slice;
}

// A step for one stream: the most urgent one that has waited longest.
Slice Scheduler::lone_step(ScheduledModel& model, std::int64_t now, const Limits& limits) {
    ScheduledStream* chosen = nullptr;
    const auto key = [&](const ScheduledStream& stream) {
        return std::tuple(-stream.urgency(now), stream.served);
    };
    for (ScheduledStream* stream : streams_) {
        const bool due = &stream->model == &model && !stream->is_outside() && is_due(*stream, now);
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
    predict(slice);
    return slice;
}

void Scheduler::predict(Slice& slice) {
    auto& model = slice.model();
    slice.predicted = model.costs.predict(model.thread_count.now(), slice.load);
    if (slice.limit > 0) { // the least that a step can do may be more than that
        slice.limit = std::max(slice.limit, slice.predicted);
    }
}

bool Scheduler::goes_on(std::int64_t now) const {
    survey();
    const bool all = std::all_of(streams_.begin(), streams_.end(), [&](const ScheduledStream* stream) {
        const bool speaks = stream->state == StreamState::speaking && !stream->is_paced();
        return stream->busy ? speaks : !is_due(*stream, now);
    });
    if (recorder_ != nullptr) {
        recorder_->facts(streams_);
        recorder_->ahead(now, all);
    }
    return all;
}

std::int64_t Scheduler::wake(std::int64_t now) const {
    auto earliest = kNever;
    for (const ScheduledStream* stream : streams_) {
        if (stream->state == StreamState::speaking && !stream->busy) {
            earliest = std::min(earliest, stream->due(now));
        }
    }
    return earliest;
}

} // namespace sotto
