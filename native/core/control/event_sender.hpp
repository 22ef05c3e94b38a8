// Sends events about requests to the host.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/attempt.hpp"
#include "core/control/stream.hpp"
#include "core/request/event_queue.hpp"
#include "core/request/request_table.hpp"
#include "core/telemetry/meter.hpp"

namespace sotto {

// Each event goes to the engine's queue, or to the queue of a private request. Control thread only.
class EventSender {
public:
    EventSender(RequestTable& table, EventQueue& queue, Meter& meter, const Clock& clock)
        : table_(table), queue_(queue), meter_(meter), clock_(clock) {}

    void accepted(Slot& slot);
    void progress(Slot& slot, float progress);
    // Sends how far the prefill of a stream's prompt is.
    void prefilled(Stream& stream, const PrefillProgress& progress);
    // Sends a saved state, which `info` describes as JSON.
    void state(Slot& slot, PageBuffer state, const std::string& info);
    // Sends the new parts of a stream's answer.
    void send(Stream& stream, const AnswerIncrement& increment);
    // Sends the finish reason of a complete answer and, after the last choice of a request, the usage and the
    // final event.
    void finished(Reply& reply, EndedChoice choice);
    // Ends a request that ran no step: sends its last event with `response`.
    void answered(Slot& slot, std::string response) noexcept;
    // Sends the last event of a request that has no answer, or that failed
    // after `tokens` tokens. The slot must not be used afterwards.
    void done(Slot& slot, sotto_status status, std::string_view why, std::uint32_t tokens = 0) noexcept;
    // Runs `body`, which handles a message about a request. If `body` throws, ends the request with the
    // error; `body` must then have kept no reference to the slot.
    template <typename Body>
    void guarded(Slot& slot, const Body& body) noexcept {
        attempt(body, [&](sotto_status status, const char* why) { done(slot, status, why); });
    }
    // Frees the events that the host has seen.
    void recycle() noexcept { queue_.recycle(); }

private:
    std::unique_ptr<Event> make(Slot& slot, sotto_event_kind kind) const;
    std::unique_ptr<Event>
    make(Reply& reply, std::uint32_t index, sotto_event_kind kind, std::uint32_t tokens) const;
    void tell_response(
        Reply& reply, sotto_event_kind kind, std::uint32_t tokens, std::vector<ResponseWriter::Chunk> chunks
    );
    void tell(Slot& slot, std::unique_ptr<Event> event) noexcept;
    void end(Slot& slot, sotto_status status) noexcept;

    RequestTable& table_;
    EventQueue& queue_;
    Meter& meter_;
    const Clock& clock_;
};

} // namespace sotto
