// Tells hosts what became of their requests.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "core/event.hpp"
#include "core/request_table.hpp"
#include "core/stream.hpp"

namespace sotto {

// The control thread's alone. Each event goes to the engine's queue or to the private request.
class Teller {
public:
    Teller(RequestTable& table, EventQueue& queue) : table_(table), queue_(queue) {}

    void accepted(Slot& slot);
    void progress(Slot& slot, float progress);
    void text(Stream& stream, const std::string& shown);
    // The answer is whole: what was held back, the reason, the usage, and the end.
    void finished(Stream& stream);
    // The last event of a request that is no answer, or failed. The slot is not to be used any more.
    void done(Slot& slot, sotto_status status, std::string_view why) noexcept;

private:
    std::unique_ptr<Event> make(Slot& slot, sotto_event_kind kind) const;
    void tell(Slot& slot, std::unique_ptr<Event> event) noexcept;
    void end(Slot& slot, sotto_status status) noexcept;

    RequestTable& table_;
    EventQueue& queue_;
};

} // namespace sotto
