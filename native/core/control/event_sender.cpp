#include "core/control/event_sender.hpp"

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

std::unique_ptr<Event> EventSender::make(Slot& slot, sotto_event_kind kind) const {
    auto event = std::make_unique<Event>();
    event->kind = kind;
    event->request = slot.id.load(std::memory_order_relaxed);
    event->user = slot.submission.user;
    event->of = slot.done->events.get();
    return event;
}

// Creates an event of a stream. If the stream is paced, the event is held back until it is due.
std::unique_ptr<Event> EventSender::make(Stream& stream, sotto_event_kind kind, std::uint32_t tokens) const {
    auto event = make(stream.reply->slot, kind);
    event->tokens = tokens;
    event->index = stream.index;
    const auto& reply = *stream.reply;
    event->lane = has_data(reply.op) ? nullptr : reply.events.answers[stream.index].get();
    event->made_ns = clock_.now();
    stream.told = tokens;
    return event;
}

void EventSender::tell(Slot& slot, std::unique_ptr<Event> event) noexcept {
    if (!is_private(slot)) {
        queue_.push(std::move(event));
        return;
    }
    slot.events.push(event.release());
    slot.arrived.notify();
}

void EventSender::end(Slot& slot, sotto_status status) noexcept {
    auto& last = *slot.done;
    last.kind = SOTTO_EVENT_REQUEST_DONE;
    last.request = slot.id.load(std::memory_order_relaxed);
    last.user = slot.submission.user;
    last.status = status;
    last.of = last.events.get();
    slot.ended = true;
    meter_.ended(status);
    table_.ended(); // before the host can see the event and submit again
    tell(slot, std::move(slot.done));
    slot.submission.body.clear();
    slot.submission.body.shrink_to_fit(); // freed here, not by the host thread that takes the last event
    table_.release(slot);
}

void EventSender::accepted(Slot& slot) {
    tell(slot, make(slot, SOTTO_EVENT_ACCEPTED));
}

void EventSender::progress(Slot& slot, float progress) {
    auto event = make(slot, SOTTO_EVENT_PROGRESS);
    event->progress = progress;
    tell(slot, std::move(event));
}

void EventSender::send(Stream& stream, const AnswerIncrement& increment) {
    auto& reply = *stream.reply;
    auto logprobs = increment.logprobs;
    for (const auto& delta : increment.deltas) {
        if (!reply.chunked && delta.kind == Delta::Kind::call) {
            continue; // a tool call is sent once it is complete
        }
        auto event = make(stream, kind_of(delta.kind), increment.tokens);
        event->text = delta.text;
        if (reply.chunked) {
            event->json = reply.writer.chunk(stream.index, delta, logprobs);
        }
        tell(reply.slot, std::move(event));
        logprobs.clear(); // sent with the first delta
    }
    for (const auto& part : increment.parts) {
        auto event = make(stream, SOTTO_EVENT_DATA, increment.tokens);
        event->data = part.bytes;
        event->json = part.info;
        tell(reply.slot, std::move(event));
    }
    for (const auto& call : increment.calls) {
        if (!reply.chunked) {
            auto event = make(stream, SOTTO_EVENT_TOOL_CALL, increment.tokens);
            event->text = call.name;
            event->json = Writer::call(call);
            tell(reply.slot, std::move(event));
        }
    }
}

void EventSender::finished(Stream& stream, const AnswerIncrement& increment) {
    auto& reply = *stream.reply;
    auto& slot = reply.slot;
    const auto& complete = stream.output.answer.complete();
    const bool over = reply.left == 1;
    auto counts = reply.counts;
    add(counts, stream.counts());
    auto finish = make(stream, SOTTO_EVENT_CHOICE_DONE, increment.tokens);
    finish->finish = complete.finish;
    std::unique_ptr<Event> usage;
    std::string response;
    if (has_data(reply.op)) {
        response = increment.result;
    } else if (!reply.chunked) {
        reply.complete[stream.index] = complete;
        response = over ? reply.writer.response(reply.complete, counts) : "";
    } else {
        const auto untold = increment.deltas.empty() ? increment.logprobs : std::vector<std::string>();
        finish->json = reply.writer.last_chunk(stream.index, complete.finish, untold, stream.counts());
        if (over && reply.parsed.include_usage) {
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

void EventSender::answered(Slot& slot, std::string response) noexcept {
    slot.done->json = std::move(response);
    end(slot, SOTTO_OK);
}

void EventSender::done(Slot& slot, sotto_status status, std::string_view why, std::uint32_t tokens) noexcept {
    slot.done->tokens = tokens;
    try {
        slot.done->error = why;
    } catch (const std::bad_alloc&) {
        slot.done->error.clear(); // then only the status is reported
    }
    end(slot, status);
}

} // namespace sotto
