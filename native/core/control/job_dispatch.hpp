// Chooses the next job, runs it on the compute threads, and learns from its duration.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/control/active_streams.hpp"
#include "core/control/compute.hpp"
#include "core/control/device_moves.hpp"
#include "core/control/duty_policy.hpp"
#include "core/control/job_starter.hpp"
#include "core/control/slice_log.hpp"
#include "core/control/step_runner.hpp"
#include "core/control/thread_class_policy.hpp"
#include "core/control/world.hpp"

namespace sotto {

// Control thread only.
class JobDispatch {
public:
    // Ends the request of a stream with an error.
    using Fail = std::function<void(Stream& stream, sotto_status status, const char* why)>;

    // `wake`: notified after each job, and when a probe has measured
    // whether threads of the idle class get cores.
    JobDispatch(
        const World& world, ActiveStreams& streams, const DeviceMoves& moves, Signal& wake, Fail fail
    );

    // Starts the next job of the streams if one can start now. No job may be
    // under way. Returns true if anything changed. If start() throws, runner() says whether a job is under
    // way.
    bool start();
    // Queues the next step if nothing else is due, so that the compute thread continues by itself: with
    // the smallest models, a round trip to the control thread before each token takes longer than the token.
    // If look_ahead() throws, nothing has changed; start() starts the step later.
    void look_ahead();
    // If the job under way is done, removes and returns it, and learns from its duration; otherwise
    // returns null.
    std::unique_ptr<Job> take_done() noexcept;
    // Processes the game's frames that have ended.
    void take_frames() noexcept;

    // Returns when a probe that streams wait for times out; kNever: no stream waits for a probe.
    std::int64_t next_probe() const noexcept;
    // Returns when start() must be called next while no job is under way.
    std::int64_t next_start() noexcept;
    // Returns the share of the time that models get, between 0 and 1.
    double share() const noexcept { return duty_.share(); }

    StepRunner& runner() noexcept { return runner_; }
    JobStarter& starter() noexcept { return starter_; }
    ThreadClassPolicy& classes() noexcept { return classes_; }

private:
    bool awaits(const Slice& slice);
    bool has_thread_for(const Slice& slice) noexcept;
    bool may_look_ahead() const noexcept;

    const Settings& settings_;
    const Clock& clock_;
    const Registry& registry_;
    Recorder& recorder_;
    ActiveStreams& streams_;
    const Fail fail_;
    SliceLog slices_;
    Compute compute_;
    ThreadClassPolicy classes_;
    DutyPolicy duty_;
    StepRunner runner_;
    JobStarter starter_;
};

} // namespace sotto
