#include "core/schedule/stream_queues.hpp"

#include <algorithm>
#include <limits>

namespace sotto {

WaitingStreams& ModelQueues::of(const ScheduledStream& stream) noexcept {
    const auto priority = index_of(stream.terms.priority);
    if (stream.waits_unprepared) {
        return unprepared[stream.terms.large ? 1 : 0][priority];
    }
    return (stream.waits_for_room ? for_room : at_once)[priority];
}

ModelQueues& StreamQueues::queues_of(const ScheduledModel& model) noexcept {
    return **std::ranges::find_if(queues_, [&](const auto& queue) { return queue->model == &model; });
}

bool StreamQueues::reserve(ScheduledStream& stream) {
    WaitingStreams::prepare(stream);
    if (inside_.capacity() <= count_) { // so that enter() cannot fail
        inside_.reserve(2 * count_ + 1);
    }
    const auto is_of_model = [&](const auto& queue) { return queue->model == &stream.model; };
    const bool first = std::ranges::none_of(queues_, is_of_model);
    if (first) {
        queues_.push_back(std::make_unique<ModelQueues>(&stream.model));
    }
    return first;
}

void StreamQueues::add(ScheduledStream& stream) noexcept {
    ++queues_of(stream.model).streams;
    ++count_;
    put(stream);
}

bool StreamQueues::remove(ScheduledStream& stream) noexcept {
    enter(stream);
    std::erase(inside_, &stream);
    stream.where = ScheduledStream::Where::nowhere;
    --count_;
    const bool last = --queues_of(stream.model).streams == 0;
    if (last) {
        std::erase_if(queues_, [&](const auto& queue) { return queue->model == &stream.model; });
    }
    return last;
}

void StreamQueues::put(ScheduledStream& stream) noexcept {
    stream.waits_for_room = !stream.terms.at_once && !stream.expected;
    stream.waits_unprepared = stream.unprepared;
    stream.was_parked = stream.state == StreamState::parked;
    parked_ += stream.was_parked ? 1 : 0;
    queues_of(stream.model).of(stream).put(stream);
    stream.where = ScheduledStream::Where::waits;
}

void StreamQueues::enter(ScheduledStream& stream) noexcept {
    if (stream.where != ScheduledStream::Where::waits) {
        return;
    }
    queues_of(stream.model).of(stream).take(stream);
    parked_ -= stream.was_parked ? 1 : 0;
    const auto later = [](std::uint64_t number, const ScheduledStream* other) {
        return number < other->terms.number;
    };
    const auto place = std::upper_bound(inside_.begin(), inside_.end(), stream.terms.number, later);
    inside_.insert(place, &stream); // capacity reserved by reserve()
    stream.where = ScheduledStream::Where::inside;
}

void StreamQueues::requeue() noexcept {
    std::erase_if(inside_, [&](ScheduledStream* stream) {
        const bool waits = stream->is_outside() && !stream->busy;
        if (waits) {
            put(*stream);
        }
        return waits;
    });
}

std::int64_t StreamQueues::min_served_ns() const noexcept {
    auto least = std::numeric_limits<std::int64_t>::max();
    for (const auto& queue : queues_) {
        least = std::min(least, queue->model->served_ns);
    }
    return least;
}

std::size_t StreamQueues::prepared_ahead(const ModelQueues& queue, std::size_t priority) const noexcept {
    const auto outside = queue.for_room[priority].newcomers() + queue.at_once[priority].newcomers();
    const auto inside = std::ranges::count_if(inside_, [&](const ScheduledStream* stream) {
        return &stream->model == queue.model && stream->state == StreamState::waiting &&
               index_of(stream->terms.priority) == priority;
    });
    return outside + static_cast<std::size_t>(inside);
}

StreamCounts StreamQueues::counts(std::int64_t now) const noexcept {
    StreamCounts all;
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

bool StreamQueues::waits_for_room(const ScheduledModel& model) const noexcept {
    return std::ranges::any_of(queues_, [&](const auto& queue) {
        const auto& kinds = queue->for_room;
        const auto some = [](const WaitingStreams& streams) { return !streams.empty(); };
        return queue->model == &model && std::any_of(kinds.begin(), kinds.end(), some);
    });
}

} // namespace sotto
