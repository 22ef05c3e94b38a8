// Applies the results of jobs to their streams.
#pragma once

#include <cstdint>

#include "core/control/compute.hpp"
#include "core/control/event_sender.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/state_files.hpp"
#include "core/control/stream_preparer.hpp"
#include "core/session/sessions.hpp"
#include "core/settings.hpp"
#include "core/telemetry/meter.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Control thread only.
class StreamResults {
public:
    StreamResults(
        const Settings& settings,
        const Clock& clock,
        const Sessions& sessions,
        Meter& meter,
        EventSender& sender,
        StateFiles& files,
        StreamPreparer& preparer,
        RequestEnder& ender
    )
        : settings_(settings), clock_(clock), sessions_(sessions), meter_(meter), sender_(sender),
          files_(files), preparer_(preparer), ender_(ender) {}

    // Called after each job, which may have closed streams. Stores the saved
    // KV cache of a closed stream in the session that keeps it.
    static void closed(const Job& job) noexcept;
    // Applies the result of a job to the streams that the job opened, unparked
    // or stepped. `followed`: another job of these streams is under way.
    void take(Job& job, bool followed) noexcept;

private:
    void opened(const Job& job, OpenJob& open, Stream& stream) noexcept;
    void resumed(const Job& job, const ResumeJob& resume, Stream& stream) noexcept;
    void stepped(const Job& job, const StepJob& step, std::size_t index) noexcept;
    void hear(Stream& stream, const sotto_step_item& work, const AnswerIncrement& increment);
    void keep_state(Stream& stream) const noexcept;

    const Settings& settings_;
    const Clock& clock_;
    const Sessions& sessions_;
    Meter& meter_;
    EventSender& sender_;
    StateFiles& files_;
    StreamPreparer& preparer_;
    RequestEnder& ender_;
};

} // namespace sotto
