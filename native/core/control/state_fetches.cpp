#include "core/control/state_fetches.hpp"

#include <algorithm>

namespace sotto {

bool StateFetches::must_wait(Stream& stream, const KvStateStore::Kept& state) {
    constexpr std::int64_t kPatience = 1'000'000'000;
    if (stream.kv.fetch != nullptr && !stream.kv.fetch->is_of(state)) {
        stream.kv.fetch.reset();
    }
    if (state == nullptr) {
        return false;
    }
    if (std::ranges::find(streams_, &stream) == streams_.end()) {
        streams_.push_back(&stream);
    }
    const auto now = clock_.now();
    if (stream.kv.fetch == nullptr && (kv_states_.is_in_memory(*state) || may_go_on(stream))) {
        stream.kv.fetch = kv_states_.fetch(state);
        stream.kv.fetch_until = now + kPatience;
    }
    stream.busy = stream.kv.awaits_fetch =
        stream.kv.fetch == nullptr || (!stream.kv.fetch->is_done() && now < stream.kv.fetch_until);
    return stream.busy;
}

bool StateFetches::take_done() noexcept {
    bool any = false;
    for (Stream* stream : streams_) {
        if (stream->kv.awaits_fetch && may_go_on(*stream)) {
            stream->kv.awaits_fetch = stream->busy = false; // the scheduler considers the stream again
            any = true;
        }
    }
    std::erase_if(streams_, [](const Stream* stream) {
        return stream->kv.fetch == nullptr && !stream->kv.awaits_fetch;
    });
    return any;
}

// Returns true if the read of a stream's state is done, has timed out, or may start. A read from disk takes
// memory and starts only while fewer than `kMaxReads` reads exist; at that limit, drops a finished read
// whose stream has no slot yet.
bool StateFetches::may_go_on(const Stream& stream) noexcept {
    constexpr std::ptrdiff_t kMaxReads = 2;
    if (stream.kv.fetch != nullptr) {
        return stream.kv.fetch->is_done() || clock_.now() >= stream.kv.fetch_until;
    }
    const auto reads = [](const Stream* other) { return other->kv.fetch != nullptr; };
    if (std::ranges::count_if(streams_, reads) < kMaxReads) {
        return true;
    }
    const auto unused = std::ranges::find_if(streams_, [](const Stream* other) {
        return other->kv.fetch != nullptr && !other->busy && other->kv.fetch->is_done();
    });
    if (unused != streams_.end()) {
        (*unused)->kv.fetch.reset(); // that stream has no slot yet, and reads its state again later
    }
    return unused != streams_.end();
}

std::int64_t StateFetches::next_timeout() const noexcept {
    auto due = kNever;
    for (const Stream* stream : streams_) {
        if (stream->kv.awaits_fetch && stream->kv.fetch != nullptr) {
            due = std::min(due, stream->kv.fetch_until);
        }
    }
    return due;
}

} // namespace sotto
