// Ends requests, and releases their streams.
#pragma once

#include <string>
#include <string_view>

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

    // Ends a request with an error, and concludes all streams that answer it.
    void fail(Stream& stream, sotto_status status, std::string_view why) noexcept;
    // Fails all requests of a model. Returns true if there were any.
    bool fail_all(const ModelEntry& entry, sotto_status status, std::string_view why) noexcept;
    // Ends a request that took no step, with its response.
    void answer(Stream& stream, std::string response) noexcept;
    // Ends a stream after the host was sent its last event.
    void conclude(Stream& stream) noexcept;
    // Processes a stream that was parked.
    void parked(Stream& stream) noexcept;
    // Releases the backend's handle of a stream that has ended.
    // Aborts the job under way if all its streams have ended.
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
