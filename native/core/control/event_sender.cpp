#include "core/control/event_sender.hpp"

#include <optional>
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
    auto sum = all.prompt == 0 ? one : all; // the prompt is the same for all answers
    sum.generated = all.generated + one.generated;
    sum.drafted = all.drafted + one.drafted;
    sum.accepted = all.accepted + one.accepted;
    sum.truncated = all.truncated || one.truncated;
    all = sum;
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

// Creates an event of a choice. If its stream is paced, the event is held back until it is due.
std::unique_ptr<Event>
EventSender::make(Reply& reply, std::uint32_t index, sotto_event_kind kind, std::uint32_t tokens) const {
    auto event = make(reply.slot, kind);
    event->tokens = tokens;
    event->index = index;
    event->lane = has_data(reply.op) ? nullptr : reply.events.answers[index].get();
    event->made_ns = clock_.now();
    return event;
}

void EventSender::tell(Slot& slot, std::unique_ptr<Event> event) noexcept {
    if (slot.listener != nullptr) {
        slot.listener->heard(slot, std::move(event));
        return;
    }
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
    if (slot.listener == nullptr) {
        meter_.ended(status); // the host's requests
    }
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

void EventSender::state(Slot& slot, PageBuffer state, const std::string& info) {
    auto event = make(slot, SOTTO_EVENT_DATA);
    event->json = info;
    event->large = std::move(state);
    tell(slot, std::move(event));
}

void EventSender::prefilled(Stream& stream, const PrefillProgress& progress) {
    auto& reply = *stream.reply;
    const auto make_event = [&](std::string json) {
        auto event = make(reply.slot, SOTTO_EVENT_PROGRESS);
        event->index = stream.index;
        event->progress = static_cast<float>(progress.processed) / static_cast<float>(progress.total);
        event->json = std::move(json);
        return event;
    };
    if (!reply.chunked) {
        tell(reply.slot, make_event(""));
        return;
    }
    auto counts = stream.counts();
    counts.prompt = progress.processed;
    counts.prompt_ms = progress.ms;
    const auto* timed = reply.parsed.timings_per_token ? &counts : nullptr;
    if (reply.response == nullptr) {
        tell(reply.slot, make_event(reply.writer.progress_chunk(stream.index, progress, timed)));
        return;
    }
    for (auto& chunk : reply.response->prefilled(progress, timed)) {
        tell(reply.slot, make_event(std::move(chunk.json)));
    }
}

void EventSender::send(Stream& stream, const AnswerIncrement& increment) {
    auto& reply = *stream.reply;
    const auto make_event = [&](sotto_event_kind kind) {
        stream.told = increment.tokens;
        return make(reply, stream.index, kind, increment.tokens);
    };
    const auto counts = reply.parsed.timings_per_token ? std::optional(stream.counts()) : std::nullopt;
    auto reports = increment.reports;
    for (const auto& delta : increment.deltas) {
        if (reply.response != nullptr) {
            stream.told = increment.tokens;
            tell_response(
                reply,
                kind_of(delta.kind),
                increment.tokens,
                reply.response->add(delta, counts ? &*counts : nullptr)
            );
            if (reply.chunked) {
                continue;
            }
        }
        if (!reply.chunked && delta.kind == Delta::Kind::call) {
            continue; // a tool call is sent once it is complete
        }
        auto event = make_event(kind_of(delta.kind));
        event->text = delta.text;
        if (reply.chunked) {
            event->json = reply.writer.chunk(stream.index, delta, reports, counts ? &*counts : nullptr);
        }
        tell(reply.slot, std::move(event));
        reports.clear(); // sent with the first delta
    }
    for (const auto& part : increment.parts) {
        auto event = make_event(SOTTO_EVENT_DATA);
        event->data = part.bytes;
        event->json = part.info;
        tell(reply.slot, std::move(event));
    }
    for (const auto& call : increment.calls) {
        if (!reply.chunked) {
            auto event = make_event(SOTTO_EVENT_TOOL_CALL);
            event->text = call.name;
            event->json = Writer::call(call);
            tell(reply.slot, std::move(event));
        }
    }
}

// Sends the events of a response's stream, if the request asks for chunks.
void EventSender::tell_response(
    Reply& reply, sotto_event_kind kind, std::uint32_t tokens, std::vector<ResponseWriter::Chunk> chunks
) {
    if (!reply.chunked) {
        return;
    }
    for (auto& chunk : chunks) {
        auto event = make(reply, 0, kind, tokens); // a response has one choice
        event->text = std::move(chunk.text);
        event->json = std::move(chunk.json);
        tell(reply.slot, std::move(event));
    }
}

void EventSender::finished(Reply& reply, EndedChoice choice) {
    auto& slot = reply.slot;
    auto& increment = choice.increment;
    const auto reason = choice.complete.finish;
    const bool over = reply.left == 1;
    auto counts = reply.counts;
    add(counts, choice.counts);
    auto finish = make(reply, choice.index, SOTTO_EVENT_CHOICE_DONE, increment.tokens);
    finish->finish = reason;
    std::unique_ptr<Event> usage;
    std::string response;
    if (has_data(reply.op)) {
        response = std::move(increment.result);
    } else if (reply.response != nullptr) {
        auto chunks = reply.response->finish(reason, counts, reply.parsed.timings_per_token);
        if (reply.chunked) {
            finish->json = std::move(chunks.back().json);
            chunks.pop_back();
            tell_response(reply, SOTTO_EVENT_TEXT, increment.tokens, std::move(chunks));
        } else {
            response = reply.response->response();
        }
    } else if (!reply.chunked) {
        reply.complete[choice.index] = std::move(choice.complete);
        response = over ? reply.writer.response(reply.complete, counts) : "";
    } else {
        const auto unsent = increment.deltas.empty() ? increment.reports : std::vector<TokenReport>();
        finish->json =
            reply.writer.last_chunk(choice.index, choice.complete, unsent, choice.counts, choice.replaced);
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
    set_text(slot.done->error, why);
    end(slot, status);
}

} // namespace sotto
