// The functions with which host threads submit requests, cancel them, and wait for events.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>

#include "core/request/event_queue.hpp"
#include "core/request/request_table.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Any thread may call any function.
class HostRequests {
public:
    // Posts a note to the control thread. Must not throw.
    using Post = std::function<void(Note& note)>;

    HostRequests(const Clock& clock, Post post) : clock_(clock), post_(std::move(post)) {}

    // Throws Error(SOTTO_ERROR_BUSY) if the maximum number of requests is live.
    sotto_request submit(Submission submission);
    // cancel(), drop() and set_tps() return false if no such request is live. drop() throws
    // Error(SOTTO_ERROR_STATE) if the request is not private.
    bool cancel(sotto_request id) noexcept;
    bool drop(sotto_request id);
    bool set_tps(sotto_request id, float tps) noexcept;

    // See sotto_engine_wait_for_events().
    sotto_status wait(std::int32_t timeout_ms) noexcept;
    // See sotto_engine_wait_request_event(). Sets `event` if it returns SOTTO_OK.
    sotto_status wait_event(sotto_request id, std::int32_t timeout_ms, std::unique_ptr<Event>& event);
    // Makes every waiting thread check again for a due event.
    void wake_all() noexcept;
    // Wakes all waiting threads. Later waits return SOTTO_ERROR_CANCELLED.
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
