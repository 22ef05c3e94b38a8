#include "core/teller.hpp"

#include <new>
#include <utility>

namespace sotto {
namespace {

std::unique_ptr<Event> event_of(Stream& stream, std::unique_ptr<Event> event) {
    event->tokens = stream.tokens();
    return event;
}

} // namespace

std::unique_ptr<Event> Teller::make(Slot& slot, sotto_event_kind kind) const {
    auto event = std::make_unique<Event>();
    event->kind = kind;
    event->request = slot.id.load(std::memory_order_relaxed);
    event->user = slot.asked.user;
    return event;
}

void Teller::tell(Slot& slot, std::unique_ptr<Event> event) noexcept {
    if (!slot.is_private()) {
        queue_.push(std::move(event));
        return;
    }
    slot.events.push(event.release());
    slot.arrived.notify();
}

void Teller::end(Slot& slot, sotto_status status) noexcept {
    auto& last = *slot.done;
    last.kind = SOTTO_EVENT_DONE;
    last.request = slot.id.load(std::memory_order_relaxed);
    last.user = slot.asked.user;
    last.status = status;
    slot.ended = true;
    tell(slot, std::move(slot.done));
    slot.asked.body.clear();
    slot.asked.body.shrink_to_fit(); // freed here, not by the host thread that takes the last event
    table_.release(slot);
}

void Teller::accepted(Slot& slot) {
    tell(slot, make(slot, SOTTO_EVENT_ACCEPTED));
}

void Teller::progress(Slot& slot, float progress) {
    auto event = make(slot, SOTTO_EVENT_PROGRESS);
    event->progress = progress;
    tell(slot, std::move(event));
}

void Teller::text(Stream& stream, const std::string& shown) {
    if (shown.empty()) {
        return;
    }
    auto event = event_of(stream, make(stream.slot, SOTTO_EVENT_TEXT));
    event->text = shown;
    if (stream.chunked()) {
        event->json = stream.writer().chunk(shown);
    }
    tell(stream.slot, std::move(event));
}

void Teller::finished(Stream& stream) {
    auto& slot = stream.slot;
    const auto counts = stream.counts();
    const auto& reason = stream.reason();
    auto finish = event_of(stream, make(slot, SOTTO_EVENT_FINISH));
    finish->text = reason;
    std::unique_ptr<Event> usage;
    std::string response;
    if (!stream.chunked()) {
        response = stream.writer().response(stream.text(), reason, counts);
    } else {
        finish->json = stream.writer().last_chunk(reason, counts);
        if (stream.prompted.include_usage) {
            usage = event_of(stream, make(slot, SOTTO_EVENT_USAGE));
            usage->json = stream.writer().usage_chunk(counts);
        }
    }
    tell(slot, std::move(finish)); // nothing throws from here on
    if (usage != nullptr) {
        tell(slot, std::move(usage));
    }
    slot.done->json = std::move(response);
    slot.done->tokens = stream.tokens();
    end(slot, SOTTO_OK);
}

void Teller::done(Slot& slot, sotto_status status, std::string_view why) noexcept {
    try {
        slot.done->text = why;
    } catch (const std::bad_alloc&) {
        slot.done->text.clear(); // the status must do
    }
    end(slot, status);
}

} // namespace sotto
