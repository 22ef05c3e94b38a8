#include "core/request/host_requests.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/error.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kMillisecondNs = 1'000'000;

// Waits until `signal` changes from `seen`, until `deadline`, or for `at_most` nanoseconds.
void wait_until(Signal& signal, std::uint32_t seen, std::int64_t deadline, std::int64_t at_most) noexcept {
    const auto now = system_clock().now();
    const auto due = at_most < kNever - now ? now + std::max<std::int64_t>(at_most, 0) : kNever;
    system_clock().wait(signal, seen, std::min(deadline, due));
}

std::int64_t deadline_after(std::int32_t timeout_ms) noexcept {
    return timeout_ms < 0 ? kNever : system_clock().now() + timeout_ms * kMillisecondNs;
}

} // namespace

sotto_request HostRequests::submit(Submission submission) {
    Slot* slot = table_.add(std::move(submission), clock_.now());
    if (slot == nullptr) {
        throw Error(
            SOTTO_ERROR_BUSY,
            std::to_string(table_.most()) + " requests are live, the maximum: take the events of some first"
        );
    }
    const auto id = slot->id.load();
    post_(slot->submit);
    return id;
}

bool HostRequests::cancel(sotto_request id) noexcept {
    Slot* slot = table_.acquire(id);
    if (slot == nullptr) {
        return false;
    }
    const bool live = !slot->ended.load();
    slot->cancelled = true;
    if (!live || slot->cancel_noted.exchange(true)) {
        table_.release(*slot);
    } else {
        post_(slot->cancel); // passes the reference on; the control thread releases it
    }
    return live;
}

bool HostRequests::drop(sotto_request id) {
    Slot* slot = table_.acquire(id);
    if (slot == nullptr) {
        return false;
    }
    if (!is_private(*slot)) {
        table_.release(*slot);
        throw Error(
            SOTTO_ERROR_STATE,
            invalid("request", std::to_string(id), "a private request; cancel the request instead")
        );
    }
    const bool first = !slot->dropped.exchange(true) && !slot->over.exchange(true);
    if (first) {
        cancel(id);
        slot->arrived.notify();
        table_.release(*slot); // the host's reference
    }
    table_.release(*slot);
    return first;
}

sotto_status HostRequests::wait(std::int32_t timeout_ms) noexcept {
    const auto deadline = deadline_after(timeout_ms);
    for (;;) {
        const auto seen = queue_.arrived().value();
        if (closed_.load()) {
            return SOTTO_ERROR_CANCELLED;
        }
        auto due = kNever;
        const auto now = clock_.now();
        if (queue_.has(now, due)) {
            return SOTTO_OK;
        }
        if (deadline <= system_clock().now()) {
            return SOTTO_EMPTY;
        }
        wait_until(queue_.arrived(), seen, deadline, due == kNever ? kNever : std::max(due, now) - now);
    }
}

sotto_status
HostRequests::wait_event(sotto_request id, std::int32_t timeout_ms, std::unique_ptr<Event>& event) {
    constexpr const char* kUnknown = "': it has ended, or was never submitted";
    Slot* slot = table_.acquire(id);
    if (slot == nullptr) {
        throw Error(SOTTO_ERROR_NOT_FOUND, "invalid request '" + std::to_string(id) + kUnknown);
    }
    sotto_status status = SOTTO_ERROR_STATE;
    const char* why = "': expected a private request; take its events with sotto_engine_next_event()";
    if (is_private(*slot) && slot->taking.test_and_set(std::memory_order_acquire)) {
        why = "': another thread waits for its events; wait on one thread";
    } else if (is_private(*slot)) {
        const bool over = slot->over.load();
        status = over ? SOTTO_ERROR_NOT_FOUND : take_private(*slot, deadline_after(timeout_ms), event);
        why = over ? kUnknown : "': it was discarded, or the engine was destroyed";
        slot->taking.clear(std::memory_order_release);
    }
    const bool last =
        status == SOTTO_OK && event->kind == SOTTO_EVENT_REQUEST_DONE && !slot->over.exchange(true);
    if (last) {
        table_.release(*slot); // the host's reference
    }
    table_.release(*slot);
    if (status < 0) {
        throw Error(status, "invalid request '" + std::to_string(id) + why);
    }
    return status;
}

sotto_status HostRequests::take_private(Slot& slot, std::int64_t deadline, std::unique_ptr<Event>& event) {
    for (;;) {
        const auto seen = slot.arrived.value();
        if (slot.dropped.load() || closed_.load()) {
            return SOTTO_ERROR_CANCELLED;
        }
        MpscQueue<Event> unwanted;
        while (Event* come = slot.events.pop()) {
            slot.release.admit(come, unwanted);
        }
        while (Event* left = unwanted.pop()) {
            delete left;
        }
        const auto now = clock_.now();
        event.reset(slot.release.next(now));
        if (event != nullptr) {
            return SOTTO_OK;
        }
        if (deadline <= system_clock().now()) {
            return SOTTO_EMPTY;
        }
        const auto due = slot.release.wake();
        wait_until(slot.arrived, seen, deadline, due == kNever ? kNever : std::max(due, now) - now);
    }
}

bool HostRequests::set_tps(sotto_request id, float tps) noexcept {
    Slot* slot = table_.acquire(id);
    if (slot == nullptr) {
        return false;
    }
    const bool live = !slot->ended.load();
    slot->target_tps.store(tps, std::memory_order_relaxed);
    table_.release(*slot);
    return live;
}

void HostRequests::wake_all() noexcept {
    queue_.arrived().notify();
    table_.wake_all();
}

void HostRequests::close() noexcept {
    closed_ = true;
    wake_all();
}

} // namespace sotto
