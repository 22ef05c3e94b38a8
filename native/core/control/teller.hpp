// Tells hosts what became of their requests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/control/stream.hpp"
#include "core/request/event_queue.hpp"
#include "core/request/request_table.hpp"
#include "core/telemetry/meter.hpp"

namespace sotto {

// The control thread's alone. Each event goes to the engine's queue or to the private request.
class Teller {
public:
    Teller(RequestTable& table, EventQueue& queue, Meter& meter, const Clock& clock)
        : table_(table), queue_(queue), meter_(meter), clock_(clock) {}

    void accepted(Slot& slot);
    void progress(Slot& slot, float progress);
    // What is new of a stream's answer.
    void heard(Stream& stream, const Heard& heard);
    // A stream's answer is whole: the reason, and after the last of a request, the usage and the end.
    // `heard`: what came last, which was told.
    void finished(Stream& stream, const Heard& heard);
    // The response to an operation that took no step.
    void answered(Slot& slot, std::string response) noexcept;
    // The last event of a request that is no answer, or failed after so many tokens. The slot is not to be
    // used any more.
    void done(Slot& slot, sotto_status status, std::string_view why, std::uint32_t tokens = 0) noexcept;

private:
    std::unique_ptr<Event> make(Slot& slot, sotto_event_kind kind) const;
    std::unique_ptr<Event> make(Stream& stream, sotto_event_kind kind, std::uint32_t tokens) const;
    void tell(Slot& slot, std::unique_ptr<Event> event) noexcept;
    void end(Slot& slot, sotto_status status) noexcept;

    RequestTable& table_;
    EventQueue& queue_;
    Meter& meter_;
    const Clock& clock_;
};

} // namespace sotto
