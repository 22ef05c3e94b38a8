// Table of an engine's streams, from the request to the end of their last job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "core/control/stream.hpp"

namespace sotto {

// Control thread only.
class StreamTable {
public:
    const std::vector<std::unique_ptr<Stream>>& all() const noexcept { return streams_; }
    bool is_empty() const noexcept { return streams_.empty(); }
    // Returns true if a stream has ended and was not freed by sweep() yet.
    bool has_ended() const noexcept { return !ended_.empty(); }

    // Returns the number of the next stream, in order of arrival.
    std::uint64_t next_number() noexcept { return ++numbers_; }
    // Reserves capacity for more streams, so that neither add() nor end() can fail.
    void reserve(std::size_t more);
    Stream& add(std::unique_ptr<Stream> stream) noexcept;
    // Returns a stream of the request in `slot`; null if the request has ended or has no stream.
    Stream* find(const Slot& slot) const noexcept;
    // Marks a stream as ended, so that sweep() frees it.
    void end(Stream& stream) noexcept { ended_.push_back(&stream); }
    // Frees the ended streams that no job uses; calls freed(stream) before freeing each.
    template <typename Freed>
    void sweep(const Freed& freed) noexcept {
        std::erase_if(ended_, [&](Stream* stream) {
            if (stream->busy) {
                return false;
            }
            freed(*stream);
            remove(*stream);
            return true;
        });
    }

private:
    void remove(Stream& stream) noexcept;

    std::vector<std::unique_ptr<Stream>> streams_;
    std::vector<Stream*> ended_;
    std::uint64_t numbers_ = 0;
};

} // namespace sotto
