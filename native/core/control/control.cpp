// The control thread's loop. Requests are in control_requests.cpp, jobs in control_jobs.cpp.
#include "core/control/control.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "platform/thread.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kListenEvery = 100'000'000;

} // namespace

Control::Control(const World& world)
    : world_(world), teller_(world.table, world.queue, world.meter, world.clock),
      sessions_(
          Sessions::kMost,
          [this](const std::string& model) {
              const auto* entry = world_.registry.find(model);
              return entry == nullptr ? 0 : entry->most_streams;
          }
      ),
      scheduler_(world.recorder.is_on() ? &world.recorder : nullptr),
      pins_(world.settings, world.registry, streams_, scheduler_), adapters_(world.registry, teller_),
      slices_(world.trace, world.meter), stats_(world.clock, world.meter, world.recorder),
      stalls_(world.hooks.log, world.registry, world.clock), moves_(signal_),
      compute_(world.hooks, world.clock, world.frames, world.parking, world.ledger, signal_),
      classes_(world.hooks, world.settings, world.frames, world.clock, moves_, signal_),
      duty_(world.settings, world.frames, world.clock, classes_, compute_, world.recorder),
      runner_(compute_, classes_, world.settings, world.clock), preparing_(world.hooks, signal_),
      incoming_(preparing_, world.settings, signal_),
      preparer_(preparing_, scheduler_, world.settings, world.clock), files_(world.hooks),
      fetches_(world.parking, world.clock), ender_(streams_, scheduler_, preparer_, pins_, runner_, teller_),
      idle_(world.registry, runner_), models_(
                                          {.registry = world.registry,
                                           .ledger = world.ledger,
                                           .clock = world.clock,
                                           .recorder = world.recorder,
                                           .teller = teller_,
                                           .ender = ender_,
                                           .pins = pins_,
                                           .adapters = adapters_,
                                           .preparer = preparer_,
                                           .idle = idle_,
                                           .runner = runner_},
                                          world.hooks,
                                          world.settings,
                                          world.card,
                                          world.ledger,
                                          signal_
                                      ),
      evacuation_(world.registry, world.card, moves_, idle_, ender_, models_),
      jobs_(world.settings, streams_, compute_, classes_, duty_, slices_, pins_, runner_),
      results_(world.settings, world.clock, sessions_, world.meter, teller_, files_, preparer_, ender_),
      resizer_(
          {.registry = world.registry,
           .ledger = world.ledger,
           .scheduler = scheduler_,
           .streams = streams_,
           .recorder = world.recorder,
           .runner = runner_,
           .jobs = jobs_,
           .pins = pins_,
           .preparer = preparer_,
           .ender = ender_,
           .models = models_}
      ),
      admission_(world.ledger, idle_, runner_, evacuation_, teller_, [this](Slot& slot) { answer(slot); }),
      memory_(
          {.registry = world.registry,
           .ledger = world.ledger,
           .parking = world.parking,
           .settings = world.settings,
           .streams = streams_,
           .classes = classes_,
           .idle = idle_,
           .runner = runner_,
           .admission = admission_,
           .models = models_,
           .resizer = resizer_},
          world.hooks,
          signal_
      ),
      thread_(start_thread([this] { run(); })) {}

Control::~Control() {
    stopping_ = true;
    wake();
    thread_.join();
    world_.parking.tell(nullptr);
}

void Control::post(Note& note) noexcept {
    notes_.push(&note);
    wake();
}

void Control::run() {
    world_.hooks.thread_started("control");
    files_.notify(signal_);
    world_.parking.tell(&signal_);
    for (;;) {
        const auto seen = signal_.value();
        if (work()) {
            continue;
        }
        if (leaving_ && world_.registry.entries().empty() && runner_.is_idle() && incoming_.is_empty()) {
            return;
        }
        world_.clock.wait(signal_, seen, next_wake());
    }
}

bool Control::work() {
    if (stopping_.load() && !std::exchange(leaving_, true)) {
        stalls_.engine_ends();
        classes_.hurry();
        leave_all();
    }
    bool worked = take_notes();
    worked = models_.take_loader_notes() || worked;
    worked = take_incoming() || worked;
    worked = take_prepared() || worked;
    if (worked) {
        runner_.hold_back(); // another job may be due first
    }
    worked = take_job_back() || worked;
    worked = take_files() || worked;
    classes_.take_probe();
    worked = adapters_.apply() || worked;
    worked = preparer_.start() || worked;
    duty_.take_frames(slices_, !streams_.is_empty(), runner_.since());
    if (duty_.pauses()) {
        runner_.hold_back();
    }
    take_paces();
    models_.free_leaving();
    sweep();
    raise_job();
    stalls_.report(runner_.job());
    worked = evacuation_.advance() || worked;
    const bool was_stuck = std::exchange(stuck_, false);
    attempt(
        [&] {
            runner_.rescue();
            worked = memory_.balance() || worked;
            worked = start_job() || worked;
            memory_.tidy();
        },
        [&](sotto_status, const char* why) {
            if (!was_stuck) { // logged once, not at each retry
                world_.hooks.log.error(why);
            }
            stuck_ = true; // nothing has started; a later iteration retries
        }
    );
    world_.queue.recycle();
    if (stats_.is_due(worked)) {
        stats_.publish(scheduler_, world_.registry, duty_.share());
    }
    return worked;
}

std::int64_t Control::next_wake() {
    constexpr std::int64_t kRetry = 10'000'000;
    if (stuck_) {
        return world_.clock.now() + kRetry;
    }
    if (!runner_.is_idle()) {
        return std::min(runner_.rescue_due(), stalls_.next_report(runner_.job()));
    }
    const auto now = world_.clock.now();
    if (const auto probed = classes_.next_wake(); probed != kNever && !streams_.is_empty()) {
        return probed;
    }
    scheduler_.look();
    const auto rested = duty_.rest_over();
    const auto due = rested != kNever ? rested : scheduler_.wake(now);
    const bool listens =
        world_.trace.is_kept() && world_.frames.are_told(now); // so that the trace misses no frame
    return std::min(
        {due, fetches_.next_timeout(), stalls_.next_report(nullptr), listens ? now + kListenEvery : kNever}
    );
}

bool Control::take_notes() {
    bool any = false;
    while (Note* note = notes_.pop()) {
        any = true;
        Slot& slot = *note->slot;
        if (note->kind == Note::Kind::cancel) {
            cancelled(slot);
            world_.table.release(slot);
        } else {
            attempt(
                [&] { submitted(slot); },
                [&](sotto_status status, const char* why) { teller_.done(slot, status, why); }
            );
        }
    }
    return any;
}

// Starts a submitted request. If it throws, no reference to the slot is kept.
void Control::submitted(Slot& slot) {
    if (slot.cancelled.load()) {
        throw Error(SOTTO_ERROR_CANCELLED, "the request was cancelled");
    }
    if (leaving_) {
        throw Error(SOTTO_ERROR_CANCELLED, "the engine is being destroyed");
    }
    slot.stream = nullptr;
    slot.has_several = false;
    switch (slot.asked.what) {
    case Asked::What::answer:
        return answer(slot);
    case Asked::What::load:
        return models_.load(slot);
    case Asked::What::unload:
        return models_.unload(slot);
    case Asked::What::plan:
        return models_.plan(slot);
    case Asked::What::load_adapter:
    case Asked::What::unload_adapter:
    case Asked::What::scale_adapter:
        return adapters_.add(slot);
    }
}

void Control::cancelled(Slot& slot) noexcept {
    if (Stream* stream = streams_.find(slot)) {
        ender_.fail(*stream, SOTTO_ERROR_CANCELLED, "the request was cancelled");
    } else if (files_.cancel(slot) || incoming_.drop(slot)) { // a file being written is completed
        teller_.done(slot, SOTTO_ERROR_CANCELLED, "the request was cancelled");
    } else {
        models_.cancel(slot);
    }
}

void Control::leave_all() noexcept {
    constexpr std::string_view kWhy = "the engine is being destroyed";
    while (Slot* slot = incoming_.drop_oldest()) {
        teller_.done(*slot, SOTTO_ERROR_CANCELLED, kWhy);
    }
    models_.leave_all(kWhy);
    while (Slot* slot = files_.cancel_oldest()) {
        teller_.done(*slot, SOTTO_ERROR_CANCELLED, kWhy);
    }
}

void Control::take_paces() noexcept {
    if (!retuned_.exchange(false)) {
        return;
    }
    for (const auto& stream : streams_.all()) {
        if (stream->state != Stream::State::over) {
            const auto& reply = *stream->reply;
            reply.lanes.own_tps.store(reply.slot.target_tps.load(std::memory_order_relaxed));
        }
    }
}

// Moves the job under way out of the idle class if the engine's destruction,
// or the detachment of the device that the job runs on, waits for it.
void Control::raise_job() noexcept {
    if (leaving_ || (!runner_.is_idle() && evacuation_.leaves_shared(*runner_.job()->entry))) {
        runner_.raise();
    }
}

// Frees streams that have ended, once no job uses them.
void Control::sweep() noexcept {
    streams_.sweep([&](Stream& stream) {
        --stream.entry.streams;
        fetches_.remove(stream);
    });
}

} // namespace sotto
