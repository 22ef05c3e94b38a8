#include "core/control/request_ender.hpp"

#include <utility>

namespace sotto {

void RequestEnder::fail(Stream& stream, sotto_status status, std::string_view why) noexcept {
    const auto reply = stream.reply;
    if (std::exchange(reply->over, true)) {
        return;
    }
    reply->turn.forget();
    if (reply->parsed.answers == 1) { // skips the search below: thousands of requests may end at once
        sender_.done(reply->slot, status, why, stream.counts().generated);
        conclude(stream);
        return;
    }
    auto tokens = reply->counts.generated;
    for (const auto& other : streams_.all()) {
        if (other->reply == reply && other->state != Stream::State::over) {
            tokens += other->counts().generated;
            conclude(*other);
        }
    }
    sender_.done(reply->slot, status, why, tokens);
}

bool RequestEnder::fail_all(const ModelEntry& entry, sotto_status status, std::string_view why) noexcept {
    bool any = false;
    for (const auto& stream : streams_.all()) {
        if (&stream->entry == &entry && stream->state != Stream::State::over) {
            fail(*stream, status, why);
            any = true;
        }
    }
    return any;
}

void RequestEnder::answer(Stream& stream, std::string response) noexcept {
    stream.reply->over = true;
    sender_.answered(stream.reply->slot, std::move(response));
    conclude(stream);
}

void RequestEnder::conclude(Stream& stream) noexcept {
    const bool reads = std::exchange(stream.kv.awaits_fetch, false);
    const bool waits = std::exchange(stream.awaits_slot, false);
    stream.busy = stream.busy && !reads && !waits;
    if (stream.state == Stream::State::parked && !stream.busy) {
        ++stream.entry.open_streams; // the stream counts as open until its handle is closed
        stream.session.reset();      // a parked stream has no slot that its session could keep
    }
    stream.state = Stream::State::over;
    stream.reply->slot.stream = nullptr;
    streams_.end(stream); // capacity was reserved
    preparer_.retry();
    discard_prepared(stream);
    scheduler_.remove(stream);
    release(stream);
}

void RequestEnder::parked(Stream& stream) noexcept {
    stream.busy = false;
    if (stream.state == Stream::State::over) {
        stream.session.reset();      // a parked stream has no slot that its session could keep
        ++stream.entry.open_streams; // the stream counts as open until its handle is closed
        release(stream);
    } else {
        stream.state = Stream::State::parked;
    }
}

void RequestEnder::release(Stream& stream) noexcept {
    if (stream.preparation.task != nullptr) {
        return;
    }
    if (stream.busy) {
        runner_.abort_if_unwanted();
    } else if (stream.handle != nullptr && !pins_.keep(stream)) {
        const bool pinned = stream.kv.keeper != nullptr && stream.kv.keeper->pinned;
        stream.entry.slots.closing.push_back(
            {std::exchange(stream.handle, nullptr),
             std::move(stream.kv.keeper),
             pinned,
             {},
             stream.terms.group}
        );
    }
}

} // namespace sotto
