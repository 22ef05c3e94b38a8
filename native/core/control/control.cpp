// The control thread's loop, and what it does with requests. Models are in control_models.cpp, memory in
// control_budget.cpp, the places of pinned sessions in control_places.cpp, adapters in control_adapters.cpp,
// jobs in control_jobs.cpp, files in control_files.cpp, what is read and prepared elsewhere in
// control_preparing.cpp.
#include "core/control/control.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"
#include "platform/thread.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kListenEvery = 100'000'000;

// The operations of a model by name.
std::string operations_of(const ModelInfo& model) {
    std::string names;
    for (sotto_op op = 1; is_operation(op); ++op) {
        if (model.does(op) && !is_about_sessions(op)) {
            names += (names.empty() ? "" : ", ") + std::string(operation_name(op));
        }
    }
    return names;
}

// What would be passed over in silence.
void check_can(const Model& loaded, sotto_op op, const Prompted& prompted) {
    const auto& model = loaded.info();
    if (!model.does(op)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            invalid(
                "op",
                operation_name(op),
                "an operation of model '" + prompted.model + "' (" + operations_of(model) +
                    "); use another model"
            )
        );
    }
    const auto backend = [&](const std::string& field) {
        return field + ": backend '" + loaded.backend().name() + "' ";
    };
    if (!prompted.form.empty() && !model.can(SOTTO_CAPABILITY_CONSTRAINABLE)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            backend(prompted.form) +
                "does not support structured output; remove the field, or use another model"
        );
    }
    if (!prompted.path.empty() && model.fingerprint.empty()) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED, backend("path") + "does not support saved states; use another model"
        );
    }
    if (prompted.logprobs && !model.can(SOTTO_CAPABILITY_LOGPROBS)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            backend("logprobs") + "does not support logprobs; remove the field, or use another model"
        );
    }
}

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
      preparer_(preparing_, scheduler_, world.settings, world.clock),
      loader_(world.hooks, world.settings, world.card, world.ledger, signal_),
      tidier_(world.hooks, world.parking, signal_), files_(world.hooks), fetches_(world.parking, world.clock),
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
    worked = take_loader_notes() || worked;
    worked = take_incoming() || worked;
    worked = take_prepared() || worked;
    if (worked) {
        runner_.hold_back(); // something else may be due before
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
    free_idle_leavers();
    sweep();
    raise_job();
    stalls_.report(runner_.job());
    worked = take_off_lost() || take_off_card() || put_on_card() || worked;
    const bool was_stuck = std::exchange(stuck_, false);
    attempt(
        [&] {
            runner_.rescue();
            worked = keep_budget() || worked;
            worked = start_job() || worked;
            tidy();
        },
        [&](sotto_status, const char* why) {
            if (!was_stuck) { // it is said once, however often that is
                world_.hooks.log.error(why);
            }
            stuck_ = true; // nothing was begun; a later turn tries again
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
    const bool listens = world_.trace.is_kept() && world_.frames.are_told(now); // so that no frame is lost
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

// Throws before anything is kept of the slot, or not at all.
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
        return load(slot);
    case Asked::What::unload:
        return unload(slot);
    case Asked::What::plan:
        return plan(slot);
    case Asked::What::load_adapter:
    case Asked::What::unload_adapter:
    case Asked::What::scale_adapter:
        return adapters_.add(slot);
    }
}

void Control::cancelled(Slot& slot) noexcept {
    if (Stream* stream = streams_.find(slot)) {
        fail(*stream, SOTTO_ERROR_CANCELLED, "the request was cancelled");
        return;
    }
    if (files_.cancel(slot) || incoming_.drop(slot)) { // a file that is being written is written
        teller_.done(slot, SOTTO_ERROR_CANCELLED, "the request was cancelled");
        return;
    }
    for (const auto& entry : world_.registry.entries()) {
        if (entry->state == ModelEntry::State::leaving) {
            continue; // what is leaving leaves
        }
        if (std::erase_if(entry->held, [&](const auto& held) { return held.slot == &slot; }) > 0) {
            teller_.done(slot, SOTTO_ERROR_CANCELLED, "the request was cancelled");
            return;
        }
        if (AdapterChanges::cancel(*entry, slot)) {
            teller_.done(slot, SOTTO_ERROR_CANCELLED, "the request was cancelled");
            return;
        }
        if (std::erase(entry->waiting, &slot) > 0) {
            const bool unwanted = entry->waiting.empty() && entry->is_new();
            entry->give_up = entry->give_up.load() || unwanted; // before the host hears of it
            teller_.done(slot, SOTTO_ERROR_CANCELLED, "loading was cancelled");
            if (unwanted && !entry->with_loader) { // it waited for room
                leave(*entry, "loading was cancelled");
            }
            return;
        }
    }
}

// Throws before anything is kept of the slot, or not at all.
// A field that is ignored is logged once.
void Control::warn_of(const std::vector<std::string>& unknown) {
    constexpr std::size_t kMaxNames = 64;
    for (const auto& name : unknown) {
        if (warned_fields_.size() < kMaxNames && warned_fields_.insert(name).second) {
            world_.hooks.log.warn(
                ("request field '" + excerpt(name) + "' has no effect in this request").c_str()
            );
        }
    }
}

void Control::answer(Slot& slot, Prompted prompted) {
    warn_of(prompted.unknown);
    ModelEntry* entry = world_.registry.find(sessions_.model_of(prompted));
    if (entry != nullptr && must_hold(*entry)) {
        hold(slot, *entry, prompted.on_budget);
        return;
    }
    auto turn = sessions_.begin(slot.asked.op, slot.id.load(), prompted, slot.asked.body);
    if (entry == nullptr || entry->state != ModelEntry::State::ready) {
        const char* why = entry == nullptr ? "' is not loaded: load it first with sotto_engine_load_model()"
                                           : "' is still loading: wait for its SOTTO_EVENT_REQUEST_DONE";
        throw Error(SOTTO_ERROR_NOT_FOUND, "model '" + prompted.model + why);
    }
    check_can(*entry->model, slot.asked.op, prompted);
    const bool restores = slot.asked.op == SOTTO_OP_RESTORE_STATE;
    if (restores && slot.asked.state == nullptr) {
        teller_.accepted(slot);
        files_.read(slot, prompted.path, max_state_size(entry->model->info())); // see file_done()
        return;
    }
    const bool computes = !is_at_once(slot.asked.op);
    auto adapters = computes ? adapters_for(*entry, prompted) : AdapterSet();
    entry->used_at = world_.clock.now();
    slot.done->lanes = std::make_unique<Lanes>(
        prompted.answers, slot.target_tps.load(std::memory_order_relaxed), world_.settings.target_tps
    );
    const auto reply =
        std::make_shared<Reply>(slot, std::move(prompted), std::move(turn), std::move(adapters));
    std::vector<std::unique_ptr<Stream>> streams;
    for (std::uint32_t i = 0; i < reply->prompted.answers; ++i) {
        streams.push_back(
            std::make_unique<Stream>(reply, i, *entry, streams_.next_number(), world_.clock.now())
        );
        auto& stream = *streams.back();
        // Answers to one request begin together, so that each time they are in batches that round alike.
        const bool alone = reply->prompted.answers == 1 || stream.terms.large;
        stream.unprepared = alone && entry->model->can_prepare() && reply->op != SOTTO_OP_RESTORE_STATE;
    }
    preparer_.retry();
    streams_.reserve(streams.size());
    if (!restores) { // that was, before its file was read
        teller_.accepted(slot);
    }
    struct Undo { // where there is no memory to schedule them all
        Scheduler& scheduler;
        const std::vector<std::unique_ptr<Stream>>& streams;
        ~Undo() {
            for (const auto& stream : streams) {
                if (stream != nullptr) { // not handed on
                    scheduler.remove(*stream);
                }
            }
        }
    } const undo{scheduler_, streams};
    for (const auto& stream : streams) {
        scheduler_.add(*stream);
        world_.recorder.request(*stream, reply->op, reply->body);
    }
    entry->streams += streams.size(); // nothing throws any more
    slot.stream = streams.size() == 1 ? streams.front().get() : nullptr;
    slot.has_several = streams.size() > 1;
    for (auto& stream : streams) {
        streams_.add(std::move(stream));
    }
    if (const auto& session = reply->turn.session(); session != nullptr) {
        pins_.begin_turn(*entry, *session);
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

// The engine's end, or the detachment of the device that a step is on, waits for the step.
void Control::raise_job() noexcept {
    const auto* job = runner_.job();
    const bool leaves_card = job != nullptr && moves_.is_leaving() && is_on_card(job->entry->device.load());
    if (leaving_ || leaves_card) {
        runner_.raise();
    }
}

// Frees streams that are over, once no job has them.
void Control::sweep() noexcept {
    streams_.sweep([&](Stream& stream) {
        --stream.entry.streams;
        fetches_.remove(stream);
    });
}

} // namespace sotto
