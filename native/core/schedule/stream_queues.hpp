// The scheduler's streams: streams with a slot in a list, streams without a slot in queues.
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
    std::uint32_t streams = 0;                        // all streams of the model
    std::array<WaitingStreams, kPriorities> for_room; // by priority; streams that need a slot
    std::array<WaitingStreams, kPriorities> at_once;  // by priority; streams that need no slot
    // Streams whose request is not prepared yet, by size (small, large) and priority
    std::array<std::array<WaitingStreams, kPriorities>, 2> unprepared;

    WaitingStreams& of(const ScheduledStream& stream) noexcept;
};

// Number of streams per state. A stream without a slot counts as parked if it had a slot before, or else as
// waiting.
struct StreamCounts {
    std::uint32_t waiting = 0;
    std::uint32_t parked = 0;
    std::uint32_t prompting = 0;
    std::uint32_t speaking = 0;
    std::int64_t oldest = 0; // when the longest-waiting stream was last served, or arrived
};

// Keeps each stream in a queue, or in the list inside(). Only reserve() allocates.
class StreamQueues {
public:
    using Queues = std::vector<std::unique_ptr<ModelQueues>>;

    // Allocates memory for a stream. Returns true if the stream's model has no streams yet. Throws
    // std::bad_alloc without any effect.
    bool reserve(ScheduledStream& stream);
    // Queues a stream for which reserve() was called.
    void add(ScheduledStream& stream) noexcept;
    // Removes a stream. Returns true if the stream's model has no streams left.
    bool remove(ScheduledStream& stream) noexcept;
    // Moves a stream that is about to get a slot to inside(). No effect if the stream is there already.
    void enter(ScheduledStream& stream) noexcept;
    // Moves streams that lost their slot, or did not get one, back to the queues.
    void requeue() noexcept;

    bool empty() const noexcept { return count_ == 0; }
    // Streams with a slot, or about to get one, in arrival order.
    const std::vector<ScheduledStream*>& inside() const noexcept { return inside_; }
    // Queues of the models that have streams.
    const Queues& queues() const noexcept { return queues_; }
    // Minimum compute time of the models that have streams; INT64_MAX if none.
    std::int64_t min_served_ns() const noexcept;
    // Streams of a model and priority that are prepared or being prepared, and had no slot yet.
    std::size_t prepared_ahead(const ModelQueues& queue, std::size_t priority) const noexcept;
    // Returns true if a stream waits for a slot of that model.
    bool waits_for_room(const ScheduledModel& model) const noexcept;
    StreamCounts counts(std::int64_t now) const noexcept;

private:
    ModelQueues& queues_of(const ScheduledModel& model) noexcept;
    void put(ScheduledStream& stream) noexcept;

    Queues queues_;
    std::vector<ScheduledStream*> inside_;
    std::size_t count_ = 0;    // all streams
    std::uint32_t parked_ = 0; // queued streams that had a slot
};

} // namespace sotto
