// Requests that were read, and those that backends have prepared.
#include <utility>

#include "base/attempt.hpp"
#include "core/control/control.hpp"

namespace sotto {

void Control::answer(Slot& slot) {
    if (const auto read = incoming_.add(slot)) {
        proceed(*read);
    }
}

// Does what a request asks for that was read. Throws before anything is kept of its slot, or not at all.
void Control::proceed(Incoming& incoming) {
    Slot& slot = *incoming.slot;
    if (!is_about_sessions(incoming.op)) {
        return answer(slot, std::move(incoming.prompted));
    }
    auto response = sessions_.answer(incoming.op, incoming.asked);
    pins_.release_unpinned();
    teller_.answered(slot, std::move(response));
}

bool Control::take_incoming() noexcept {
    bool any = incoming_.start_reading();
    while (const auto read = incoming_.take_done()) {
        finish_incoming(*read);
        preparer_.retry(); // on the thread that is free
        any = true;
    }
    return any;
}

void Control::finish_incoming(Incoming& incoming) noexcept {
    if (incoming.slot == nullptr) {
        return;
    }
    Slot& slot = *incoming.slot;
    slot.asked.body = std::move(incoming.body);
    if (const auto& failure = incoming.reading.failure) {
        teller_.done(slot, failure.status, failure.why);
        return;
    }
    attempt(
        [&] { proceed(incoming); },
        [&](sotto_status status, const char* why) { teller_.done(slot, status, why); }
    );
}

// Goes on with the streams whose requests were prepared. Returns true if there were any.
bool Control::take_prepared() noexcept {
    bool any = false;
    for (;;) {
        const auto [stream, failure] = preparer_.take_done();
        if (stream == nullptr) {
            return any;
        }
        any = true;
        if (stream->state == Stream::State::over) {
            discard_prepared(*stream);
        } else if (failure) {
            fail(*stream, failure.status, failure.why);
        } else if (stream->prepared.handle == nullptr) {
            answered(*stream, std::move(stream->prepared.result));
        } else {
            scheduler_.changed(*stream);
        }
    }
}

} // namespace sotto
