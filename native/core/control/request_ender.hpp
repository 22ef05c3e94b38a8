// Ends requests, and releases their streams.
#pragma once

#include <string>
#include <string_view>

#include "base/attempt.hpp"
#include "core/control/event_sender.hpp"
#include "core/control/slot_pins.hpp"
#include "core/control/step_runner.hpp"
#include "core/control/stream_preparer.hpp"
#include "core/control/stream_table.hpp"
#include "core/schedule/scheduler.hpp"

namespace sotto {

// Control thread only.
class RequestEnder {
public:
    RequestEnder(
        StreamTable& streams,
        Scheduler& scheduler,
        StreamPreparer& preparer,
        SlotPins& pins,
        StepRunner& runner,
        EventSender& sender
    )
        : streams_(streams), scheduler_(scheduler), preparer_(preparer), pins_(pins), runner_(runner),
          sender_(sender) {}

    // Ends the request of `stream` with an error, and calls conclude() for all streams of
    // the request. Does nothing if the request has ended already.
    void fail(Stream& stream, sotto_status status, std::string_view why) noexcept;
    // Runs `body`, which handles the result of a job for `stream`. If `body` throws, ends the request with
    // the error.
    template <typename Body>
    void guarded(Stream& stream, const Body& body) noexcept {
        attempt(body, [&](sotto_status status, const char* why) { fail(stream, status, why); });
    }
    // Ends all requests of a model with an error. Returns true if the model had any.
    bool fail_all(const ModelEntry& entry, sotto_status status, std::string_view why) noexcept;
    // Ends the request of `stream`, which needed no step, by sending `response` to the host.
    void answer(Stream& stream, std::string response) noexcept;
    // Marks a stream as ended, removes it from the scheduler, and calls release(). Sends no event.
    void conclude(Stream& stream) noexcept;
    // Called after a job has parked a stream. Marks the stream as parked or,
    // if the stream has ended meanwhile, calls release().
    void parked(Stream& stream) noexcept;
    // Called for a stream that has ended. Lets a pinned session keep the slot, or queues the backend's
    // handle of the stream for closing. If a job still uses the stream, only aborts the job, and only if
    // all streams of the job have ended.
    void release(Stream& stream) noexcept;

private:
    StreamTable& streams_;
    Scheduler& scheduler_;
    StreamPreparer& preparer_;
    SlotPins& pins_;
    StepRunner& runner_;
    EventSender& sender_;
};

} // namespace sotto
