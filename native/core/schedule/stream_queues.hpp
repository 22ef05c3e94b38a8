// How the scheduler keeps its streams: those with a slot in a list, those without one in queues.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "core/schedule/scheduled.hpp"
#include "core/schedule/waiting.hpp"

namespace sotto {

// The streams of one model that have no slot.
struct ModelQueues {
    ScheduledModel* model;
    std::uint32_t streams = 0;                                         // of the model, also those with a slot
    std::array<WaitingStreams, kPriorities> for_room;                  // by priority
    std::array<WaitingStreams, kPriorities> at_once;                   // by priority: those that need no room
    std::array<std::array<WaitingStreams, kPriorities>, 2> unprepared; // by priority; large ones last

    WaitingStreams& of(const ScheduledStream& stream) noexcept;
};

// How many streams are in each state, those without a slot by what they were when they lost it.
struct StreamCounts {
    std::uint32_t waiting = 0;
    std::uint32_t parked = 0;
    std::uint32_t prompting = 0;
    std::uint32_t speaking = 0;
    std::int64_t oldest = 0; // when the stream without a slot that waits the longest was served, or came
};

// Where each stream of a scheduler is. Only reserve() allocates.
class StreamQueues {
public:
    using Queues = std::vector<std::unique_ptr<ModelQueues>>;

    // Allocates what the stream needs. Returns true if its model had no streams. Throws std::bad_alloc before
    // anything has changed.
    bool reserve(ScheduledStream& stream);
    // Puts a stream that was reserved among those without a slot.
    void add(ScheduledStream& stream) noexcept;
    // Returns true if its model has no streams left.
    bool remove(ScheduledStream& stream) noexcept;
    // Moves a stream to those with a slot, as one is about to get it. No effect if it has one.
    void enter(ScheduledStream& stream) noexcept;
    // Moves streams that have lost their slot, or did not get it, to those without one.
    void requeue() noexcept;

    bool empty() const noexcept { return count_ == 0; }
    // Streams with a slot, or about to get one, in order of arrival.
    const std::vector<ScheduledStream*>& inside() const noexcept { return inside_; }
    // Of the models that have streams.
    const Queues& queues() const noexcept { return queues_; }
    // The least compute time that any of those models had; INT64_MAX if there are none.
    std::int64_t min_served_ns() const noexcept;
    // Streams of a model and a priority that are prepared, or being prepared, and have had no slot yet.
    std::size_t prepared_ahead(const ModelQueues& queue, std::size_t priority) const noexcept;
    // Returns true if a stream waits for a slot of that model.
    bool waits_for_room(const ScheduledModel& model) const noexcept;
    StreamCounts counts(std::int64_t now) const noexcept;

private:
    ModelQueues& queues_of(const ScheduledModel& model) noexcept;
    void put(ScheduledStream& stream) noexcept;

    Queues queues_;
    std::vector<ScheduledStream*> inside_;
    std::size_t count_ = 0;    // of all streams
    std::uint32_t parked_ = 0; // streams without a slot that had one
};

} // namespace sotto
