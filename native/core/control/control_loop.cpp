#include "core/control/control_loop.hpp"

#include <algorithm>
#include <utility>

namespace sotto {

ControlLoop::ControlLoop(const World& world, DeviceMoves& moves, Signal& wake)
    : sender_(world.table, world.queue, world.meter, world.clock), streams_(world, wake),
      jobs_(
          world,
          streams_,
          moves,
          wake,
          [this](Stream& stream, sotto_status status, const char* why) { ender_.fail(stream, status, why); }
      ),
      ender_(
          streams_.table(),
          streams_.scheduler(),
          streams_.preparer(),
          streams_.pins(),
          jobs_.runner(),
          sender_
      ),
      models_(
          world, streams_, jobs_, ender_, sender_, moves, wake, [this](Slot& slot) { intake_.add(slot); }
      ),
      checks_(
          world, [this](Slot& slot) { submit(slot); }, [this](Slot& slot) { cancel(slot); }
      ),
      intake_(world, streams_, models_.admission(), ender_, sender_, checks_, wake),
      results_(world, intake_.sessions(), sender_, intake_.files(), streams_, ender_, checks_),
      stalls_(world.hooks.log, world.registry, world.clock), stats_(world.clock, world.meter, world.recorder),
      retry_(world.hooks.log, world.clock) {}

void ControlLoop::submit(Slot& slot) noexcept {
    sender_.guarded(slot, [&] { start_request(slot); });
}

// Starts a submitted request. If start_request() throws, no reference to the slot is kept.
void ControlLoop::start_request(Slot& slot) {
    if (slot.cancelled.load()) {
        throw Error(SOTTO_ERROR_CANCELLED, "the request was cancelled");
    }
    if (leaving_) {
        throw Error(SOTTO_ERROR_CANCELLED, "the engine is being destroyed");
    }
    slot.stream = nullptr;
    slot.has_several = false;
    if (slot.submission.kind == Submission::Kind::answer) {
        intake_.add(slot);
    } else {
        models_.submit(slot);
    }
}

void ControlLoop::cancel(Slot& slot) noexcept {
    if (Stream* stream = streams_.table().find(slot)) {
        ender_.fail(*stream, SOTTO_ERROR_CANCELLED, "the request was cancelled");
    } else if (results_.drop(slot) || intake_.drop(slot)) {
        sender_.done(slot, SOTTO_ERROR_CANCELLED, "the request was cancelled");
    } else if (!intake_.cancel(slot)) {
        models_.cancel(slot);
    }
}

void ControlLoop::leave() noexcept {
    constexpr std::string_view kWhy = "the engine is being destroyed";
    if (std::exchange(leaving_, true)) {
        return;
    }
    stalls_.engine_ends();
    jobs_.classes().hurry();
    results_.cancel_checks(kWhy);
    intake_.cancel_reading(kWhy);
    models_.leave_all(kWhy);
    intake_.cancel_files(kWhy);
}

bool ControlLoop::has_ended() noexcept {
    return leaving_ && models_.registry().entries().empty() && jobs_.runner().is_idle() && intake_.is_empty();
}

bool ControlLoop::work(bool noted) {
    bool worked = noted;
    retry_.run([&] {
        worked = take_results(worked);
        worked = start_work() || worked;
    });
    sender_.recycle();
    if (stats_.is_due(worked)) {
        stats_.publish(streams_.scheduler(), models_.registry(), jobs_.share());
    }
    return worked;
}

// Handles what other threads have finished. Returns true if `noted`, or if anything was finished. If it
// throws, what was taken from other threads has been handled, and the rest waits for the next call.
bool ControlLoop::take_results(bool noted) {
    bool worked = models_.take_loader_notes() || noted;
    worked = checks_.advance() || worked;
    worked = intake_.take_read() || worked;
    worked = intake_.take_prepared() || worked;
    if (worked) {
        jobs_.runner().hold_back(); // another job may be due before the queued step
    }
    worked = take_job_back() || worked;
    worked = intake_.take_files() || worked;
    worked = streams_.fetches().take_done() || worked;
    worked = streams_.slot_waits().take_free() || worked;
    worked = streams_.waits().take_done() || worked;
    jobs_.classes().take_probe();
    worked = models_.apply_adapters() || worked;
    worked = streams_.preparer().start() || worked;
    jobs_.take_frames();
    streams_.take_paces();
    models_.free_leaving();
    streams_.sweep();
    raise_job();
    return worked;
}

// Frees and assigns the memory of models, and starts the next job if one is due. Returns true if anything
// changed.
bool ControlLoop::start_work() {
    bool worked = models_.evacuate();
    jobs_.runner().rescue();
    worked = models_.balance() || worked;
    worked = start_job() || worked;
    models_.tidy();
    stalls_.report(jobs_.runner().job());
    return worked;
}

std::int64_t ControlLoop::next_wake() {
    if (const auto retried = retry_.next(); retried != kNever) {
        return retried;
    }
    const auto& runner = jobs_.runner();
    if (!runner.is_idle()) {
        return std::min(runner.rescue_due(), stalls_.next_report(runner.job()));
    }
    if (const auto probed = jobs_.next_probe(); probed != kNever) {
        return probed;
    }
    return std::min(jobs_.next_start(), stalls_.next_report(nullptr));
}

// Starts the next job if no job is under way. Returns true if anything changed.
bool ControlLoop::start_job() {
    return jobs_.runner().is_idle() && (models_.start_closing() || jobs_.start());
}

bool ControlLoop::take_job_back() {
    const auto job = jobs_.take_done();
    if (job == nullptr) {
        return false;
    }
    StreamResults::closed(*job);
    if (!models_.take(*job)) {
        results_.take(*job, !jobs_.runner().is_idle());
        jobs_.look_ahead();
    }
    return true;
}

// Moves the job under way out of the idle class if the engine's destruction, or the
// detachment of the device that the job runs on, waits for the end of the job.
void ControlLoop::raise_job() noexcept {
    auto& runner = jobs_.runner();
    if (leaving_ || (!runner.is_idle() && models_.leaves_shared(*runner.job()->entry))) {
        runner.raise();
    }
}

} // namespace sotto
