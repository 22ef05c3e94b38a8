// Applies the results of jobs to their streams.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/control/active_streams.hpp"
#include "core/control/compute.hpp"
#include "core/control/event_sender.hpp"
#include "core/control/guard_checks.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/state_files.hpp"
#include "core/control/world.hpp"
#include "core/session/sessions.hpp"

namespace sotto {

// Control thread only.
class StreamResults {
public:
    StreamResults(
        const World& world,
        const Sessions& sessions,
        EventSender& sender,
        StateFiles& files,
        ActiveStreams& streams,
        RequestEnder& ender,
        GuardChecks& checks
    )
        : settings_(world.settings), clock_(world.clock), sessions_(sessions), streams_(streams.table()),
          meter_(world.meter), sender_(sender), files_(files), preparer_(streams.preparer()),
          waits_(streams.waits()), ender_(ender), checks_(checks) {}

    // Called after each job, which may have closed streams. Stores the saved
    // KV cache of a closed stream in the session that keeps it.
    static void closed(const Job& job) noexcept;
    // Applies the result of a job to the streams that the job opened, unparked
    // or stepped. `followed`: another job of these streams is under way.
    void take(Job& job, bool followed) noexcept;
    // Drops a cancelled request whose answers guardrails are checking, without an event. Returns false if
    // there is no such request.
    bool drop(const Slot& slot) noexcept;
    // Ends all such requests as cancelled.
    void cancel_checks(std::string_view why) noexcept;

private:
    void opened(const Job& job, OpenJob& open, Stream& stream) noexcept;
    void slots_done(SlotTask& task, Stream& stream);
    void resumed(const Job& job, const ResumeJob& resume, Stream& stream) noexcept;
    void stepped(const Job& job, const StepJob& step, std::size_t index) noexcept;
    void tell_prefill(Stream& stream);
    void hear(Stream& stream, const sotto_step_item& work, const AnswerIncrement& increment);
    void saved(Stream& stream);
    void finish(Stream& stream, const AnswerIncrement& increment);
    void check(const std::shared_ptr<Reply>& reply);
    void checked(Reply& reply, const CheckResult& result) noexcept;
    void end(Reply& reply, EndedChoice choice);
    void keep_state(Stream& stream) const noexcept;

    const Settings& settings_;
    const Clock& clock_;
    const Sessions& sessions_;
    const StreamTable& streams_;
    Meter& meter_;
    EventSender& sender_;
    StateFiles& files_;
    StreamPreparer& preparer_;
    StreamWaits& waits_;
    RequestEnder& ender_;
    GuardChecks& checks_;
    std::vector<std::shared_ptr<Reply>> checking_; // whose answers guardrails are checking
};

} // namespace sotto
