#include "core/schedule/scheduler.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "platform/clock.hpp"

namespace sotto {
namespace {

constexpr std::uint32_t kPiece = 64; // of a prompt, where pieces are always the same

bool has_room(const ModelEntry& entry) {
    return entry.open_streams < entry.model->info().streams;
}

// What is smaller goes first.
auto rank(const Stream& stream, std::int64_t now) {
    return std::tuple(
        -stream.urgency(now), stream.entry.served_ns, stream.deadline, stream.remaining, stream.arrived
    );
}

} // namespace

void Scheduler::add(Stream& stream) {
    streams_.push_back(&stream);
    const auto& entry = stream.entry;
    const bool first = std::none_of(streams_.begin(), streams_.end(), [&](const Stream* other) {
        return other != &stream && &other->entry == &entry;
    });
    if (first) { // a model that did nothing for a while is not owed that time
        auto least = std::numeric_limits<std::int64_t>::max();
        for (const Stream* other : streams_) {
            least = other == &stream ? least : std::min(least, other->entry.served_ns);
        }
        stream.entry.served_ns = streams_.size() == 1 ? 0 : std::max(entry.served_ns, least);
    }
}

void Scheduler::remove(Stream& stream) {
    if (const auto found = std::find(streams_.begin(), streams_.end(), &stream); found != streams_.end()) {
        streams_.erase(found);
    }
}

// The stream whose place another may have: of those that matter less, the one that matters least and came
// last.
Stream* Scheduler::victim_for(const Stream& stream) const {
    if (!stream.entry.model->can_park()) {
        return nullptr;
    }
    Stream* victim = nullptr;
    for (Stream* other : streams_) {
        const bool has_place = &other->entry == &stream.entry && !other->is_outside() && other->may_park();
        if (has_place && other->priority < stream.priority &&
            (victim == nullptr || other->priority <= victim->priority)) {
            victim = other;
        }
    }
    return victim;
}

bool Scheduler::may_enter(const Stream& stream) const {
    return stream.at_once || has_room(stream.entry) ||
           (stream.priority > stream.entry.least_priority && stream.entry.model->can_park());
}

// Notes, of each model, how little the least of those that have a place matters.
void Scheduler::survey() const {
    for (const Stream* stream : streams_) {
        stream->entry.least_priority = SOTTO_PRIORITY_FOREGROUND;
    }
    for (const Stream* stream : streams_) {
        if (!stream->is_outside() && stream->may_park()) {
            stream->entry.least_priority = std::min(stream->entry.least_priority, stream->priority);
        }
    }
}

bool Scheduler::is_due(const Stream& stream, std::int64_t now) const {
    switch (stream.state) {
    case Stream::State::waiting:
    case Stream::State::parked:
        return may_enter(stream);
    case Stream::State::prompting:
        return true;
    case Stream::State::speaking:
        return stream.due(now) <= now;
    case Stream::State::over:
        break;
    }
    return false;
}

Slice Scheduler::next(std::int64_t now, const Limits& limits) {
    survey();
    Stream* enters = most_urgent(now, true);
    Stream* steps = most_urgent(now, false);
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
        auto& entry = steps->entry;
        const bool together = entry.model->info().can(SOTTO_CAPABILITY_BATCHABLE) && !limits.apart;
        slice = together ? step(entry, now, limits) : lone_step(entry, now, limits);
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
Stream* Scheduler::most_urgent(std::int64_t now, bool outside) const {
    Stream* first = nullptr;
    for (Stream* stream : streams_) {
        if (stream->is_outside() == outside && is_due(*stream, now) &&
            (first == nullptr || rank(*stream, now) < rank(*first, now))) {
            first = stream;
        }
    }
    return first;
}

Slice Scheduler::enter(Stream& stream) const {
    Slice slice;
    slice.kind = stream.state == Stream::State::parked ? Slice::Kind::unpark : Slice::Kind::open;
    slice.shares = {{&stream, 0}};
    slice.parks = stream.at_once || has_room(stream.entry) ? nullptr : victim_for(stream);
    return slice;
}

// What a step with prompts may take: no more than the mode allows, and no longer than those whose speech is
// paced have something left to say.
std::int64_t Scheduler::limit_of(std::int64_t now, const Limits& limits) const {
    auto limit = limits.time;
    for (const Stream* stream : streams_) {
        if (stream->state == Stream::State::speaking && stream->is_paced()) {
            limit = std::min(limit, std::max(stream->dry(now) - now, stream->period()) * 3 / 4);
        }
    }
    return limit;
}

Slice Scheduler::step(ModelEntry& entry, std::int64_t now, const Limits& limits) {
    Slice slice;
    slice.kind = Slice::Kind::step;
    chosen_.clear();
    for (Stream* stream : streams_) {
        if (&stream->entry == &entry && stream->state == Stream::State::prompting) {
            chosen_.push_back(stream);
        }
    }
    std::sort(chosen_.begin(), chosen_.end(), [&](const Stream* left, const Stream* right) {
        return rank(*left, now) < rank(*right, now);
    });
    for (Stream* stream :
         streams_) { // who speaks: those that are due, and if there is nothing else, all that may
        const bool speaks = &stream->entry == &entry && stream->state == Stream::State::speaking;
        if (speaks && (chosen_.empty() ? stream->may_speak(now) : stream->due(now) <= now)) {
            slice.shares.push_back({stream, 0});
            slice.load.add_answer(stream->context());
        }
    }
    if (!chosen_.empty()) {
        slice.limit = limit_of(now, limits);
        const auto most = entry.model->info().step_tokens;
        const auto& first = *chosen_.front();
        auto tokens = std::max(
            entry.costs.prompt_tokens(
                entry.thread_count.now(),
                slice.load,
                first.context(),
                slice.limit,
                most > 0 ? most - std::min(most - 1, slice.load.answers) : UINT16_MAX
            ),
            entry.model->info().step_least
        );
        for (Stream* stream : chosen_) {
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
Slice Scheduler::lone_step(ModelEntry& entry, std::int64_t now, const Limits& limits) {
    Stream* chosen = nullptr;
    const auto key = [&](const Stream& stream) { return std::tuple(-stream.urgency(now), stream.served); };
    for (Stream* stream : streams_) {
        const bool due = &stream->entry == &entry && !stream->is_outside() && is_due(*stream, now);
        if (due && (chosen == nullptr || key(*stream) < key(*chosen))) {
            chosen = stream;
        }
    }
    Slice slice;
    slice.kind = Slice::Kind::step;
    std::uint32_t tokens = 0;
    if (chosen->state == Stream::State::prompting) {
        const auto most = entry.model->info().step_tokens;
        slice.limit = limit_of(now, limits);
        tokens = limits.apart ? kPiece - chosen->context() % kPiece
                              : entry.costs.prompt_tokens(
                                    entry.thread_count.now(),
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
    auto& entry = slice.entry();
    slice.predicted = entry.costs.predict(entry.thread_count.now(), slice.load);
    if (slice.limit > 0) { // the least that a step can do may be more than that
        slice.limit = std::max(slice.limit, slice.predicted);
    }
}

bool Scheduler::goes_on(std::int64_t now) const {
    survey();
    return std::all_of(streams_.begin(), streams_.end(), [&](const Stream* stream) {
        const bool speaks = stream->state == Stream::State::speaking && !stream->is_paced();
        return stream->busy ? speaks : !is_due(*stream, now);
    });
}

std::int64_t Scheduler::wake(std::int64_t now) const {
    auto earliest = kNever;
    for (const Stream* stream : streams_) {
        if (stream->state == Stream::State::speaking && !stream->busy) {
            earliest = std::min(earliest, stream->due(now));
        }
    }
    return earliest;
}

} // namespace sotto
