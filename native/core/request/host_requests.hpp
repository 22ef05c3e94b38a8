// What host threads do with requests: submit and cancel them, and wait for their events.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/request/event_queue.hpp"
#include "core/request/request_table.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Any thread may call anything.
class HostRequests {
public:
    // Hands a note to the control thread. Must not throw.
    using Post = std::function<void(Note& note)>;

    HostRequests(const Clock& clock, Post post) : clock_(clock), post_(std::move(post)) {}

    // Throws Error(SOTTO_ERROR_BUSY) when as many requests as can be are live.
    sotto_request submit(Asked asked);
    // Returns false if no such request is live; likewise drop() and set_tps().
    bool cancel(sotto_request id) noexcept;
    bool drop(sotto_request id);
    bool set_tps(sotto_request id, float tps) noexcept;

    // As sotto_engine_wait_for_events().
    sotto_status wait(std::int32_t timeout_ms) noexcept;
    // As sotto_engine_wait_request_event(); with SOTTO_OK, `event` is it.
    sotto_status wait_event(sotto_request id, std::int32_t timeout_ms, std::unique_ptr<Event>& event);
    // Has every thread that waits look again whether an event is due.
    void wake_all() noexcept;
    // Wakes every thread that waits; from now on, waiting ends with SOTTO_ERROR_CANCELLED.
    void close() noexcept;

    RequestTable& table() noexcept { return table_; }
    EventQueue& events() noexcept { return queue_; }

private:
    sotto_status take_private(Slot& slot, std::int64_t deadline, std::unique_ptr<Event>& event);

    const Clock& clock_;
    const Post post_;
    RequestTable table_;
    EventQueue queue_;
    std::atomic<bool> closed_{false};
};

} // namespace sotto
