// Index of streams without a slot: a decision costs the same however many streams wait.
#pragma once

#include <array>
#include <cstdint>
#include <set>
#include <tuple>

#include <sotto/request.h>

namespace sotto {

class ScheduledStream;

constexpr std::size_t kPriorities = SOTTO_PRIORITY_FOREGROUND - SOTTO_PRIORITY_BACKGROUND + 1;

constexpr std::size_t index_of(sotto_priority priority) noexcept {
    return static_cast<std::size_t>(priority - SOTTO_PRIORITY_BACKGROUND);
}

// Streams of one model and one priority that wait for a slot. prepare() allocates the entry of a stream;
// put() and take() do not allocate.
class WaitingStreams {
    // Order: parked pinned streams, then deadline, then remaining prefill, then arrival.
    struct Rank {
        std::tuple<bool, std::int64_t, std::uint32_t, std::uint64_t> key;
        ScheduledStream* stream;
        bool operator<(const Rank& other) const noexcept { return key < other.key; }
    };
    struct Age {
        std::tuple<std::int64_t, std::uint64_t> key; // time last served, then arrival
        ScheduledStream* stream;
        bool operator<(const Age& other) const noexcept { return key < other.key; }
    };
    using Ranks = std::multiset<Rank>;
    using Ages = std::multiset<Age>;

public:
    // A stream's entry in the index: in a queue, or kept by the stream for the next put().
    class Entry {
        friend class WaitingStreams;
        Ranks::iterator rank;
        Ages::iterator age;
        Ranks::node_type kept_rank;
        Ages::node_type kept_age;
    };

    // Allocates the stream's entry without adding it to a queue, so that put() cannot fail.
    static void prepare(ScheduledStream& stream);
    void put(ScheduledStream& stream) noexcept;
    void take(ScheduledStream& stream) noexcept;

    bool empty() const noexcept { return ranks_.empty(); }
    std::size_t size() const noexcept { return ranks_.size(); }
    // Streams that never had a slot.
    std::size_t newcomers() const noexcept { return newcomers_; }
    // The stream to serve next; null if empty. A stream not served for 10 s precedes all others.
    ScheduledStream* best(std::int64_t now) const noexcept;
    // The stream served longest ago; null if empty.
    const ScheduledStream* oldest() const noexcept;

private:
    Ranks ranks_;
    Ages ages_;
    std::size_t newcomers_ = 0;
};

} // namespace sotto
