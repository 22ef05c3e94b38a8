// What the control thread leaves to the preparing threads: to read requests that are large, and to have
// backends prepare requests ahead of their turn.
#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "core/control/control.hpp"

namespace sotto {

// On threads of the models' own priority where they come first; else the game's threads go before. Throws
// before it is begun, or not at all.
void Control::begin_task(PreparingTask& task) {
    preparing_.begin(task, !comes_first());
}

void Control::answer(Slot& slot) {
    auto incoming = std::make_unique<Incoming>(slot);
    if (slot.asked.body.size() <= kLargeBody) {
        incoming->read(slot.asked.body);
        if (incoming_.empty()) {
            return proceed(*incoming);
        }
        incoming->take_names();
        incoming->reading.done = true;
    } else {
        auto* self = incoming.get();
        self->reading.is_large = true;
        self->reading.body = [this, self] {
            self->names = names_in(self->body);
            self->named.store(true, std::memory_order_release);
            wake();
            self->read(self->body);
        };
    }
    incoming_.push_back(std::move(incoming));
    incoming_.back()->body = std::move(slot.asked.body);
}

// Does what a request asks for that was read. Throws before anything is kept of its slot, or not at all.
void Control::proceed(Incoming& incoming) {
    Slot& slot = *incoming.slot;
    if (!is_about_sessions(incoming.op)) {
        return answer(slot, std::move(incoming.prompted));
    }
    auto response = sessions_.answer(incoming.op, incoming.asked);
    let_go_of_unpinned();
    teller_.answered(slot, std::move(response));
}

// Begins to read what is to be read, and goes on with what was. Whether anything was done.
bool Control::take_incoming() noexcept {
    bool any = false;
    for (std::size_t i = 0; i < incoming_.size();) {
        auto& one = *incoming_[i];
        auto& reading = one.reading;
        const bool read = reading.done.load(std::memory_order_acquire);
        if (!read && !reading.is_begun && one.slot != nullptr && preparing_.has_room(true)) {
            attempt([&] { begin_task(reading); }, [&](sotto_status, const char*) { read_here(reading); });
            any = true;
        }
        const auto holds = [&](const auto& earlier) { return earlier->holds(one); };
        const auto here = incoming_.begin() + static_cast<std::ptrdiff_t>(i);
        const bool unwanted = one.slot == nullptr && !reading.is_under_way();
        if (!unwanted && (!read || std::any_of(incoming_.begin(), here, holds))) {
            ++i;
            continue;
        }
        const auto done = std::move(*here);
        incoming_.erase(here);
        finish_incoming(*done);
        any = prepares_ = true; // there is room on the threads
    }
    return any;
}

// Where no thread can be had.
void Control::read_here(PreparingTask& reading) noexcept {
    reading.is_begun = true;
    attempt(reading.body, [&](sotto_status status, const char* why) { reading.failure.set(status, why); });
    reading.done = true;
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

// Nobody waits for it any more. It goes once it is not read.
void Control::drop_incoming(Incoming& incoming, std::string_view why) noexcept {
    if (Slot* slot = std::exchange(incoming.slot, nullptr)) {
        incoming.reading.cancelled = true;
        teller_.done(*slot, SOTTO_ERROR_CANCELLED, why);
    }
}

// Has backends prepare what may be prepared now. Whether anything was begun.
bool Control::start_preparing() noexcept {
    bool any = false;
    while (prepares_ && preparing_.has_room(false)) {
        auto* next = scheduler_.next_unprepared(world_.clock.now(), preparing_.has_room(true));
        prepares_ = next != nullptr;
        if (next != nullptr) {
            auto& stream = static_cast<Stream&>(*next); // the control thread schedules nothing else
            attempt(
                [&] { prepare(stream); },
                [&](sotto_status, const char*) {
                    stream.preparing.reset();
                    stream.unprepared = false; // then the compute thread does it
                }
            );
            scheduler_.changed(stream);
            any = true;
        }
    }
    return any;
}

void Control::prepare(Stream& stream) {
    being_prepared_.reserve(being_prepared_.size() + 1);
    stream.preparing = std::make_unique<PreparingTask>();
    auto& task = *stream.preparing;
    const auto flags = stream_flags();
    task.is_large = stream.terms.large;
    task.body = [&stream, &task, flags] {
        const auto& reply = *stream.reply;
        auto& model = *stream.entry.model;
        stream.prepared = model.prepare(reply.op, reply.body, stream.index, flags, task.cancelled);
    };
    begin_task(task); // nothing throws any more
    being_prepared_.push_back(&stream);
    stream.busy = true;
    ++stream.entry.preparing;
}

// Goes on with those whose requests were prepared. Whether there were any.
bool Control::take_prepared() noexcept {
    const auto is_done = [&](Stream* stream) {
        const bool done = stream->preparing->done.load(std::memory_order_acquire);
        if (done) {
            prepared(*stream);
        }
        return done;
    };
    const bool any = std::erase_if(being_prepared_, is_done) > 0;
    prepares_ = prepares_ || any;
    return any;
}

void Control::prepared(Stream& stream) noexcept {
    const auto task = std::move(stream.preparing);
    --stream.entry.preparing;
    stream.unprepared = stream.busy = false;
    if (stream.state == Stream::State::over) {
        discard_prepared(stream);
    } else if (const auto& failure = task->failure) {
        fail(stream, failure.status, failure.why);
    } else if (stream.prepared.handle == nullptr) {
        answered(stream, std::move(stream.prepared.result));
    } else {
        scheduler_.changed(stream);
    }
}

// What a backend prepared of a stream that will not be opened.
void Control::discard_prepared(Stream& stream) noexcept {
    if (stream.preparing != nullptr) {
        stream.preparing->cancelled = true;
    } else if (void* prepared = std::exchange(stream.prepared.handle, nullptr)) {
        stream.entry.model->close_prepared(prepared);
    }
}

} // namespace sotto
