#include "core/control/stream_table.hpp"

#include <algorithm>

namespace sotto {

void StreamTable::reserve(std::size_t more) {
    if (const auto needed = streams_.size() + more; needed > streams_.capacity()) {
        streams_.reserve(2 * needed);
    }
    ended_.reserve(streams_.capacity());
}

Stream& StreamTable::add(std::unique_ptr<Stream> stream) noexcept {
    stream->place = streams_.size();
    streams_.push_back(std::move(stream));
    return *streams_.back();
}

Stream* StreamTable::find(const Slot& slot) const noexcept {
    if (!slot.has_several) {
        return slot.stream;
    }
    const auto found = std::ranges::find_if(streams_, [&](const auto& stream) {
        return !stream->reply->over && &stream->reply->slot == &slot;
    });
    return found == streams_.end() ? nullptr : found->get();
}

void StreamTable::remove(Stream& stream) noexcept {
    auto& place = streams_[stream.place];
    std::swap(place, streams_.back());
    place->place = std::exchange(stream.place, 0);
    streams_.pop_back();
}

} // namespace sotto
