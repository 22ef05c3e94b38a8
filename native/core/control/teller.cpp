#include "core/control/teller.hpp"

#include <new>
#include <utility>

namespace sotto {
namespace {

sotto_event_kind kind_of(Delta::Kind kind) {
    switch (kind) {
    case Delta::Kind::reasoning:
        return SOTTO_EVENT_REASONING;
    case Delta::Kind::call:
        return SOTTO_EVENT_TOOL_CALL;
    default:
        return SOTTO_EVENT_TEXT;
    }
}

void add(Counts& all, const Counts& one) {
    const bool first = all.prompt == 0; // the prompt is the same for all answers
    const auto generated = all.generated + one.generated;
    if (first) {
        all = one;
    }
    all.generated = generated;
}

} // namespace

std::unique_ptr<Event> Teller::make(Slot& slot, sotto_event_kind kind) const {
    auto event = std::make_unique<Event>();
    event->kind = kind;
    event->request = slot.id.load(std::memory_order_relaxed);
    event->user = slot.asked.user;
    event->of = slot.done->lanes.get();
    return event;
}

// Creates an event of a stream, which is held back until it is due if the stream is paced.
std::unique_ptr<Event> Teller::make(Stream& stream, sotto_event_kind kind, std::uint32_t tokens) const {
    auto event = make(stream.reply->slot, kind);
    event->tokens = tokens;
    event->index = stream.index;
    const auto& reply = *stream.reply;
    event->lane = has_data(reply.op) ? nullptr : reply.lanes.answers[stream.index].get();
    event->made_ns = clock_.now();
    stream.told = tokens;
    return event;
}

void Teller::tell(Slot& slot, std::unique_ptr<Event> event) noexcept {
    if (!is_private(slot)) {
        queue_.push(std::move(event));
        return;
    }
    slot.events.push(event.release());
    slot.arrived.notify();
}

void Teller::end(Slot& slot, sotto_status status) noexcept {
    auto& last = *slot.done;
    last.kind = SOTTO_EVENT_REQUEST_DONE;
    last.request = slot.id.load(std::memory_order_relaxed);
    last.user = slot.asked.user;
    last.status = status;
    last.of = last.lanes.get();
    slot.ended = true;
    meter_.ended(status);
    table_.ended(); // before the host can see the event and submit again
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

void Teller::heard(Stream& stream, const Heard& heard) {
    auto& reply = *stream.reply;
    auto logprobs = heard.logprobs;
    for (const auto& delta : heard.deltas) {
        if (!reply.chunked && delta.kind == Delta::Kind::call) {
            continue; // sent once it is complete
        }
        auto event = make(stream, kind_of(delta.kind), heard.tokens);
        event->text = delta.text;
        if (reply.chunked) {
            event->json = reply.writer.chunk(stream.index, delta, logprobs);
        }
        tell(reply.slot, std::move(event));
        logprobs.clear(); // sent with the first delta
    }
    for (const auto& part : heard.parts) {
        auto event = make(stream, SOTTO_EVENT_DATA, heard.tokens);
        event->data = part.bytes;
        event->json = part.info;
        tell(reply.slot, std::move(event));
    }
    for (const auto& call : heard.calls) {
        if (!reply.chunked) {
            auto event = make(stream, SOTTO_EVENT_TOOL_CALL, heard.tokens);
            event->text = call.name;
            event->json = Writer::call(call);
            tell(reply.slot, std::move(event));
        }
    }
}

void Teller::finished(Stream& stream, const Heard& heard) {
    auto& reply = *stream.reply;
    auto& slot = reply.slot;
    const auto& said = stream.output.answer.said();
    const bool over = reply.left == 1;
    auto counts = reply.counts;
    add(counts, stream.counts());
    auto finish = make(stream, SOTTO_EVENT_CHOICE_DONE, heard.tokens);
    finish->finish = said.finish;
    std::unique_ptr<Event> usage;
    std::string response;
    if (has_data(reply.op)) {
        response = heard.result;
    } else if (!reply.chunked) {
        reply.said[stream.index] = said;
        response = over ? reply.writer.response(reply.said, counts) : "";
    } else {
        const auto untold = heard.deltas.empty() ? heard.logprobs : std::vector<std::string>();
        finish->json = reply.writer.last_chunk(stream.index, said.finish, untold, stream.counts());
        if (over && reply.prompted.include_usage) {
            usage = make(slot, SOTTO_EVENT_USAGE);
            usage->tokens = counts.generated;
            usage->json = reply.writer.usage_chunk(counts);
        }
    }
    reply.counts = counts; // nothing throws from here on
    --reply.left;
    tell(slot, std::move(finish));
    if (!over) {
        return;
    }
    if (usage != nullptr) {
        tell(slot, std::move(usage));
    }
    reply.over = true;
    slot.done->json = std::move(response);
    slot.done->tokens = counts.generated;
    end(slot, SOTTO_OK);
}

void Teller::answered(Slot& slot, std::string response) noexcept {
    slot.done->json = std::move(response);
    end(slot, SOTTO_OK);
}

void Teller::done(Slot& slot, sotto_status status, std::string_view why, std::uint32_t tokens) noexcept {
    slot.done->tokens = tokens;
    try {
        slot.done->error = why;
    } catch (const std::bad_alloc&) {
        slot.done->error.clear(); // then only the status is reported
    }
    end(slot, status);
}

} // namespace sotto
