// How the scheduler keeps its streams: those with a slot in a list, those without one in queues.
#include <algorithm>
#include <limits>
#include <utility>

#include "core/schedule/scheduler.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kMaxOwed = 200'000'000; // of compute time, to a group

} // namespace

WaitingStreams& Scheduler::Queue::of(const ScheduledStream& stream) noexcept {
    const auto priority = index_of(stream.terms.priority);
    if (stream.waits_unprepared) {
        return unprepared[stream.terms.large ? 1 : 0][priority];
    }
    return (stream.waits_for_room ? for_room : at_once)[priority];
}

Scheduler::Queue& Scheduler::queue_of(const ScheduledModel& model) noexcept {
    return **std::find_if(queues_.begin(), queues_.end(), [&](const auto& queue) {
        return queue->model == &model;
    });
}

void Scheduler::add(ScheduledStream& stream) {
    auto& model = stream.model;
    WaitingStreams::prepare(stream);
    if (inside_.capacity() <= streams_) { // so that putting one there cannot fail
        inside_.reserve(2 * streams_ + 1);
    }
    model.groups.reserve(model.groups.size() + 1); // likewise
    const bool first = std::none_of(queues_.begin(), queues_.end(), [&](const auto& queue) {
        return queue->model == &model;
    });
    auto least = std::numeric_limits<std::int64_t>::max();
    for (const auto& queue : queues_) {
        least = std::min(least, queue->model->served_ns);
    }
    if (first) {
        queues_.push_back(std::make_unique<Queue>(&model));
    }
    if (observer_ != nullptr) {
        observer_->added(stream);
    }
    if (first) { // a model that did nothing for a while is not owed that time
        model.served_ns = streams_ == 0 ? 0 : std::max(model.served_ns, least);
        model.charged_ns = model.served_ns;
        model.processed = {};
    }
    enter_group(stream);
    ++queue_of(model).streams;
    ++streams_;
    share_.arrived(stream.terms.priority);
    put(stream);
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
    leave_group(stream);
    take(stream);
    std::erase(inside_, &stream);
    stream.where = ScheduledStream::Where::nowhere;
    share_.left(stream.terms.priority);
    --streams_;
    if (--queue_of(model).streams == 0) {
        charge(model);
        std::erase_if(queues_, [&](const auto& queue) { return queue->model == &model; });
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
    if (stream.where == ScheduledStream::Where::waits) {
        take(stream);
    }
    sync();
}

// A group that had no streams is not owed the time that others had meanwhile.
void Scheduler::enter_group(const ScheduledStream& stream) noexcept {
    auto& groups = stream.model.groups;
    const auto name = stream.terms.group;
    if (std::ranges::find(groups, name, &Group::name) == groups.end()) {
        const auto least = std::ranges::min_element(groups, {}, &Group::served_ns);
        const auto served = groups.empty() ? 0 : least->served_ns;
        groups.push_back({.name = name, .streams = 0, .processed = 0, .served_ns = served});
    }
    ++stream.model.group(name).streams;
}

void Scheduler::leave_group(const ScheduledStream& stream) noexcept {
    if (--stream.model.group(stream.terms.group).streams == 0) {
        charge(stream.model);
        std::erase_if(stream.model.groups, [](const Group& group) { return group.streams == 0; });
    }
}

void Scheduler::note_progress(ScheduledStream& stream) noexcept {
    const auto tokens = stream.take_progress();
    stream.model.processed[index_of(stream.terms.priority)] += tokens;
    stream.model.group(stream.terms.group).processed += tokens;
}

// Puts a stream among those without a slot.
void Scheduler::put(ScheduledStream& stream) noexcept {
    stream.waits_for_room = !stream.terms.at_once && !stream.expected;
    stream.waits_unprepared = stream.unprepared;
    stream.was_parked = stream.state == StreamState::parked;
    parked_ += stream.was_parked ? 1 : 0;
    queue_of(stream.model).of(stream).put(stream);
    stream.where = ScheduledStream::Where::waits;
}

// Puts a stream among those with a slot, as one is about to get it.
void Scheduler::take(ScheduledStream& stream) noexcept {
    if (stream.where != ScheduledStream::Where::waits) {
        return;
    }
    queue_of(stream.model).of(stream).take(stream);
    parked_ -= stream.was_parked ? 1 : 0;
    const auto later = [](std::uint64_t number, const ScheduledStream* other) {
        return number < other->terms.number;
    };
    const auto place = std::upper_bound(inside_.begin(), inside_.end(), stream.terms.number, later);
    inside_.insert(place, &stream); // there is room for it
    stream.where = ScheduledStream::Where::inside;
}

// Streams that have lost their slot, or did not get it, wait again.
void Scheduler::sync() noexcept {
    std::erase_if(inside_, [&](ScheduledStream* stream) {
        const bool waits = stream->is_outside() && !stream->busy;
        if (waits) {
            put(*stream);
        }
        return waits;
    });
}

// Of streams without a slot nothing changes unless changed() says so.
void Scheduler::report_facts() const noexcept {
    for (const auto& queue : queues_) {
        observer_->changed(*queue->model);
    }
    observer_->facts(inside_);
}

// Charges the compute time since the last call to the priorities and the groups that used it, by the tokens
// of each.
void Scheduler::charge(ScheduledModel& model) noexcept {
    const auto took = model.served_ns - std::exchange(model.charged_ns, model.served_ns);
    const auto processed = std::exchange(model.processed, {});
    std::uint64_t all = 0;
    for (const auto tokens : processed) {
        all += tokens;
    }
    const auto part_of = [&](std::uint64_t tokens) {
        const auto part = static_cast<double>(tokens) / static_cast<double>(all);
        return static_cast<std::int64_t>(part * static_cast<double>(took));
    };
    for (std::size_t i = 0; all > 0 && took > 0 && i < kPriorities; ++i) {
        share_.spent(
            static_cast<sotto_priority>(static_cast<int>(i) + SOTTO_PRIORITY_BACKGROUND),
            part_of(processed[i])
        );
    }
    std::int64_t most = 0;
    for (auto& group : model.groups) {
        const auto tokens = std::exchange(group.processed, 0);
        group.served_ns += all > 0 && took > 0 ? part_of(tokens) : 0;
        most = std::max(most, group.served_ns);
    }
    for (auto& group : model.groups) { // one that had nothing to do is owed little
        group.served_ns = std::max(group.served_ns, most - kMaxOwed);
    }
}

void Scheduler::settle(std::int64_t now) noexcept {
    for (ScheduledStream* stream : inside_) {
        note_progress(*stream);
    }
    for (const auto& queue : queues_) {
        charge(*queue->model);
    }
    share_.settle(now);
}

Scheduler::Counts Scheduler::counts(std::int64_t now) const noexcept {
    Counts all;
    all.oldest = now;
    all.parked = parked_;
    for (const auto& queue : queues_) {
        for (const auto* kind :
             {&queue->at_once, &queue->for_room, &queue->unprepared[0], &queue->unprepared[1]}) {
            for (const auto& streams : *kind) {
                all.waiting += static_cast<std::uint32_t>(streams.size());
                const auto* oldest = streams.oldest();
                all.oldest = std::min(all.oldest, oldest == nullptr ? now : oldest->served_at);
            }
        }
    }
    all.waiting -= parked_;
    for (const ScheduledStream* stream : inside_) {
        all.waiting += stream->state == StreamState::waiting ? 1 : 0;
        all.parked += stream->state == StreamState::parked ? 1 : 0;
        all.prompting += stream->state == StreamState::prompting ? 1 : 0;
        all.speaking += stream->state == StreamState::speaking ? 1 : 0;
    }
    return all;
}

bool Scheduler::waits_for_room(const ScheduledModel& model) const noexcept {
    return std::any_of(queues_.begin(), queues_.end(), [&](const auto& queue) {
        const auto& kinds = queue->for_room;
        const auto some = [](const WaitingStreams& streams) { return !streams.empty(); };
        return queue->model == &model && std::any_of(kinds.begin(), kinds.end(), some);
    });
}

} // namespace sotto
