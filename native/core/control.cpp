// The control thread's loop, and what it does with requests. Jobs are in control_jobs.cpp.
#include "core/control.hpp"

#include <algorithm>
#include <utility>

#include "base/attempt.hpp"

namespace sotto {
namespace {

constexpr std::int64_t kShowEvery = 50'000'000;
constexpr std::int64_t kListenEvery = 100'000'000;

bool same_model(const Asked& left, const Asked& right) {
    return left.path == right.path && left.backend == right.backend && left.options == right.options;
}

// What would be passed over in silence.
void check_can(const ModelInfo& model, const Prompted& prompted) {
    if (!prompted.form.empty() && !model.can(SOTTO_CAPABILITY_CONSTRAINABLE)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            prompted.form + " is there, and this model's backend holds no answer to a form; leave it out"
        );
    }
    if (!prompted.path.empty() && model.fingerprint.empty()) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "this model's backend saves and restores no states");
    }
    if (prompted.logprobs && !model.can(SOTTO_CAPABILITY_LOGPROBS)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "logprobs are asked for, and this model's backend tells none; leave them out"
        );
    }
}

ModelTraits traits_of(const ModelInfo& info) {
    return {
        .streams = info.streams,
        .step_tokens = info.step_tokens,
        .step_least = info.step_least,
        .batches = info.can(SOTTO_CAPABILITY_BATCHABLE),
        .parks = info.can(SOTTO_CAPABILITY_PARKABLE),
    };
}

} // namespace

Control::Control(const World& world)
    : world_(world), teller_(world.table, world.queue, world.meter, world.clock),
      scheduler_(world.recorder.is_on() ? &world.recorder : nullptr),
      compute_(world.hooks, world.clock, world.frames, signal_),
      loader_(world.hooks, world.settings, world.device, world.modules, signal_), thread_([this] { run(); }) {
}

Control::~Control() {
    stopping_ = true;
    wake();
    thread_.join();
}

void Control::post(Note& note) noexcept {
    notes_.push(&note);
    wake();
}

void Control::run() {
    world_.hooks.thread_started("control");
    for (;;) {
        const auto seen = signal_.value();
        if (work()) {
            continue;
        }
        if (leaving_ && world_.registry.entries().empty() && job_ == nullptr) {
            return;
        }
        world_.clock.wait(signal_, seen, next_wake());
    }
}

bool Control::work() {
    if (stopping_.load() && !std::exchange(leaving_, true)) {
        leave_all();
    }
    bool worked = take_notes();
    worked = take_loader_notes() || worked;
    if (worked) {
        hold_back(); // something else may be due before
    }
    worked = take_job_back() || worked;
    take_frames();
    take_paces();
    free_idle_leavers();
    sweep();
    stuck_ = false;
    attempt(
        [&] { worked = start_job() || worked; },
        [&](sotto_status, const char* why) {
            world_.hooks.log.error(why);
            stuck_ = true; // nothing was begun; a later turn tries again
        }
    );
    world_.queue.recycle();
    changed_ = changed_ || worked;
    if (changed_ && (!worked || world_.clock.now() - shown_ >= kShowEvery)) {
        show();
    }
    return worked;
}

std::int64_t Control::next_wake() {
    constexpr std::int64_t kRetry = 10'000'000;
    if (stuck_) {
        return world_.clock.now() + kRetry;
    }
    if (job_ != nullptr) {
        return kNever;
    }
    const auto now = world_.clock.now();
    const bool rests =
        !streams_.empty() && now < rest_until_; // something may be due that has no moment of its own
    scheduler_.look();
    const auto due = rests ? rest_until_ : scheduler_.wake(now);
    const bool listens = world_.trace.is_kept() && world_.frames.are_told(now); // so that no frame is lost
    return listens ? std::min(due, now + kListenEvery) : due;
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
    switch (slot.asked.what) {
    case Asked::What::answer:
        return answer(slot);
    case Asked::What::load:
        return load(slot);
    case Asked::What::unload:
        return unload(slot);
    }
}

void Control::cancelled(Slot& slot) noexcept {
    if (Stream* stream = find_stream(slot)) {
        fail(*stream, SOTTO_ERROR_CANCELLED, "the request was cancelled");
        return;
    }
    for (const auto& entry : world_.registry.entries()) {
        const auto found = std::find(entry->waiting.begin(), entry->waiting.end(), &slot);
        if (found == entry->waiting.end() || entry->state != ModelEntry::State::loading) {
            continue; // what is leaving leaves
        }
        entry->waiting.erase(found);
        entry->give_up = entry->waiting.empty();
        teller_.done(slot, SOTTO_ERROR_CANCELLED, "loading was cancelled");
        return;
    }
}

void Control::answer(Slot& slot) {
    if (is_about_sessions(slot.asked.op)) {
        teller_.answered(slot, sessions_.answer(slot.asked.op, slot.asked.body));
        return;
    }
    auto prompted = read_request(slot.asked.op, slot.asked.body);
    auto turn = sessions_.begin(slot.asked.op, slot.id.load(), prompted, slot.asked.body);
    ModelEntry* entry = world_.registry.find(prompted.model);
    if (entry == nullptr || entry->state != ModelEntry::State::ready) {
        const char* why = entry == nullptr ? "\"; load it first" : "\"; it is still being loaded";
        throw Error(SOTTO_ERROR_NOT_FOUND, "no model is loaded as \"" + prompted.model + why);
    }
    check_can(entry->model->info(), prompted);
    slot.done->lanes = std::make_unique<Lanes>(
        prompted.answers, slot.target_tps.load(std::memory_order_relaxed), world_.settings.target_tps
    );
    const auto reply = std::make_shared<Reply>(slot, std::move(prompted), std::move(turn));
    std::vector<std::unique_ptr<Stream>> streams;
    for (std::uint32_t i = 0; i < reply->prompted.answers; ++i) {
        streams.push_back(std::make_unique<Stream>(reply, i, *entry, ++arrived_, world_.clock.now()));
    }
    if (const auto needed = streams_.size() + streams.size(); needed > streams_.capacity()) {
        streams_.reserve(2 * needed);
    }
    teller_.accepted(slot);
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
    for (auto& stream : streams) { // nothing throws any more
        streams_.push_back(std::move(stream));
    }
}

void Control::load(Slot& slot) {
    ModelEntry* entry = world_.registry.find(slot.asked.id);
    const bool given_up = entry != nullptr && entry->give_up.load();
    if (entry != nullptr && !given_up && !same_model(entry->asked, slot.asked)) {
        throw Error(
            SOTTO_ERROR_STATE,
            "another model is loaded as \"" + slot.asked.id + "\"; unload it first, or choose another id"
        );
    }
    if (entry != nullptr && entry->state == ModelEntry::State::ready) {
        teller_.done(slot, SOTTO_OK, "");
        return;
    }
    teller_.accepted(slot);
    if (entry != nullptr && !given_up) {
        entry->waiting.push_back(&slot);
        return;
    }
    auto fresh = std::make_unique<ModelEntry>(slot.asked);
    fresh->waiting.push_back(&slot);
    world_.registry.reserve(); // nothing throws from here on
    if (entry != nullptr) {
        entry->state = ModelEntry::State::leaving; // its loading was cancelled, and may end as it likes
    }
    hand_to_loader(*fresh);
    world_.registry.add(std::move(fresh));
}

void Control::unload(Slot& slot) {
    ModelEntry* entry = world_.registry.find(slot.asked.id);
    if (entry == nullptr) {
        throw Error(SOTTO_ERROR_NOT_FOUND, "no model is loaded as \"" + slot.asked.id + "\"");
    }
    std::vector<Slot*> waiting = {&slot};
    teller_.accepted(slot); // nothing throws from here on
    waiting.swap(entry->waiting);
    for (Slot* loading : waiting) {
        teller_.done(*loading, SOTTO_ERROR_CANCELLED, "the model was unloaded while it was being loaded");
    }
    leave(*entry);
}

// Nobody finds the model any more; it is freed once nothing is under way on it.
void Control::leave(ModelEntry& entry) noexcept {
    const bool loading = entry.state == ModelEntry::State::loading;
    entry.state = ModelEntry::State::leaving;
    entry.give_up = true;
    if (loading) {
        return; // the loader's note ends it
    }
    world_.registry.publish();
    for (const auto& stream : streams_) {
        if (&stream->entry == &entry && stream->state != Stream::State::over) {
            fail(*stream, SOTTO_ERROR_CANCELLED, "the model was unloaded");
        }
    }
}

void Control::leave_all() noexcept {
    for (const auto& entry : world_.registry.entries()) {
        if (entry->state == ModelEntry::State::loading) {
            for (Slot* slot : std::exchange(entry->waiting, {})) {
                teller_.done(*slot, SOTTO_ERROR_CANCELLED, "the engine is being destroyed");
            }
        }
        if (entry->state != ModelEntry::State::leaving) {
            leave(*entry);
        }
    }
}

void Control::hand_to_loader(ModelEntry& entry) noexcept {
    entry.with_loader = true;
    loader_.take_on(entry);
}

void Control::free_idle_leavers() noexcept {
    for (const auto& entry : world_.registry.entries()) {
        const bool idle = entry->open_streams == 0 && (job_ == nullptr || job_->entry != entry.get()) &&
                          !entry->with_loader;
        if (entry->state == ModelEntry::State::leaving && idle) {
            hand_to_loader(*entry);
        }
    }
}

bool Control::take_loader_notes() noexcept {
    bool any = false;
    while (auto note = loader_.take()) {
        any = true;
        ModelEntry& entry = *note->entry;
        switch (note->kind) {
        case LoaderNote::Kind::progress:
            if (entry.state == ModelEntry::State::loading) {
                tell_progress(entry, note->progress);
            }
            break;
        case LoaderNote::Kind::loaded: {
            auto model = std::move(note->model);
            entry.verdict = std::move(note); // for when it is freed
            loaded(entry, std::move(model));
            break;
        }
        case LoaderNote::Kind::failed:
            gone(entry, note->failure.status, note->failure.why);
            break;
        case LoaderNote::Kind::freed:
            gone(entry, SOTTO_OK, "");
            break;
        }
    }
    return any;
}

void Control::tell_progress(ModelEntry& entry, float progress) noexcept {
    for (Slot* slot : entry.waiting) {
        attempt(
            [&] { teller_.progress(*slot, progress); }, [](sotto_status, const char*) {}
        ); // another will come
    }
}

void Control::loaded(ModelEntry& entry, std::unique_ptr<Model> model) noexcept {
    entry.with_loader = false;
    entry.model = std::move(model);
    entry.traits = traits_of(entry.model->info());
    entry.number = ++models_;
    world_.recorder.model(entry, entry.asked.id);
    if (entry.waiting.empty()) {
        leave(entry); // the last who wanted it cancelled too late for the loader
    }
    if (entry.state == ModelEntry::State::leaving) {
        return;
    }
    entry.state = ModelEntry::State::ready;
    world_.registry.publish();
    for (Slot* slot : std::exchange(entry.waiting, {})) {
        teller_.done(*slot, SOTTO_OK, "");
    }
}

// A model is no more, or never came to be.
void Control::gone(ModelEntry& entry, sotto_status status, std::string_view why) noexcept {
    const bool left = entry.state == ModelEntry::State::leaving;
    for (Slot* slot : std::exchange(entry.waiting, {})) {
        teller_.done(*slot, left ? SOTTO_OK : status, left ? "" : why);
    }
    world_.registry.remove(entry);
}

Stream* Control::find_stream(const Slot& slot) noexcept {
    const auto found = std::find_if(streams_.begin(), streams_.end(), [&](const auto& stream) {
        return !stream->reply->over && &stream->reply->slot == &slot;
    });
    return found == streams_.end() ? nullptr : found->get();
}

} // namespace sotto
