#include "core/control/slot_waits.hpp"

#include <algorithm>

namespace sotto {

// A stream that was unparked reports its slot with its next step: until then, it may have any.
bool SlotWaits::is_taken(const Stream& stream, const ScheduledStream* parks) const noexcept {
    return std::ranges::any_of(streams_.all(), [&](const auto& other) {
        const bool has_slot = other.get() != &stream && other.get() != parks &&
                              &other->entry == &stream.entry && !other->is_outside() &&
                              other->state != Stream::State::over;
        return has_slot && (other->slot() == stream.reply->parsed.slot || other->slot() < 0);
    });
}

bool SlotWaits::must_wait(Stream& stream, const ScheduledStream* parks) {
    const bool names_slot = stream.reply->parsed.slot >= 0 && !stream.terms.at_once;
    if (!names_slot || stream.state != Stream::State::waiting || !is_taken(stream, parks)) {
        return false;
    }
    waiting_.push_back(&stream);
    stream.busy = stream.awaits_slot = true;
    return true;
}

bool SlotWaits::take_free() noexcept {
    const auto before = waiting_.size();
    std::erase_if(waiting_, [&](Stream* stream) {
        if (stream->awaits_slot && is_taken(*stream, nullptr)) {
            return false;
        }
        if (stream->awaits_slot) {
            stream->awaits_slot = stream->busy = false; // the scheduler considers the stream again
        }
        return true;
    });
    return waiting_.size() != before;
}

} // namespace sotto
