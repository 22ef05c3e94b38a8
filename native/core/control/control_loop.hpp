// One iteration of the control thread's loop, and the time of the next iteration.
#pragma once

#include <cstdint>

#include "core/control/active_streams.hpp"
#include "core/control/device_moves.hpp"
#include "core/control/event_sender.hpp"
#include "core/control/guard_checks.hpp"
#include "core/control/job_dispatch.hpp"
#include "core/control/model_pool.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/request_intake.hpp"
#include "core/control/stall_watch.hpp"
#include "core/control/start_retry.hpp"
#include "core/control/stats_publisher.hpp"
#include "core/control/stream_results.hpp"
#include "core/control/world.hpp"

namespace sotto {

// Control thread only, except retune() and give_up_loading().
class ControlLoop {
public:
    // `wake`: notified when a call of work() is due.
    ControlLoop(const World& world, DeviceMoves& moves, Signal& wake);

    // Called when the target tokens per second of a request have changed. Any thread.
    void retune() noexcept { streams_.retune(); }
    // Cancels the loads of models, as the engine is about to be destroyed. Any thread.
    void give_up_loading() noexcept { models_.give_up_loading(); }

    // Starts a submitted request.
    void submit(Slot& slot) noexcept;
    // Ends a cancelled request.
    void cancel(Slot& slot) noexcept;
    // Cancels all requests and unloads the models, as the engine is being destroyed.
    void leave() noexcept;
    // Returns true once all requests have ended and all models are freed after leave().
    bool has_ended() noexcept;

    // Handles what other threads have finished (reading, preparing, a job, state files), frees and assigns
    // the memory of models, and starts the next job if one is due. `noted`: requests were submitted or
    // cancelled since the last call. Returns true if `noted`, or if anything changed: call work() again at
    // once.
    bool work(bool noted);
    // Returns when work() must be called next, even if `wake` is not notified.
    std::int64_t next_wake();

private:
    void start_request(Slot& slot);
    bool take_results(bool noted);
    bool take_job_back();
    bool start_work();
    void raise_job() noexcept;
    bool start_job();

    // Members that own threads are declared after the objects that these threads use.
    EventSender sender_;
    ActiveStreams streams_;
    JobDispatch jobs_;
    RequestEnder ender_;
    ModelPool models_;
    GuardChecks checks_;
    RequestIntake intake_;
    StreamResults results_;
    StallWatch stalls_;
    StatsPublisher stats_;
    StartRetry retry_;
    bool leaving_ = false; // leave() was called
};

} // namespace sotto
