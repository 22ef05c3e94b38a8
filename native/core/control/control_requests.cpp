// Request handling of the control thread, from the parsed request to the streams that answer it.
#include <utility>

#include "base/attempt.hpp"
#include "core/control/control.hpp"

namespace sotto {
namespace {

// Returns the names of a model's operations, separated by commas.
std::string operations_of(const ModelInfo& model) {
    std::string names;
    for (sotto_op op = 1; is_operation(op); ++op) {
        if (model.does(op) && !is_about_sessions(op)) {
            names += (names.empty() ? "" : ", ") + std::string(operation_name(op));
        }
    }
    return names;
}

// Throws Error(SOTTO_ERROR_UNSUPPORTED) if the model does not support the
// operation, or a field of the request that would otherwise be ignored silently.
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

void Control::answer(Slot& slot) {
    if (const auto read = incoming_.add(slot)) {
        proceed(*read);
    }
}

// Executes a request that was read. If it throws, no reference to the slot is kept.
void Control::proceed(Incoming& incoming) {
    Slot& slot = *incoming.slot;
    if (!is_about_sessions(incoming.op)) {
        return answer(slot, std::move(incoming.prompted));
    }
    auto response = sessions_.answer(incoming.op, incoming.asked);
    pins_.release_unpinned();
    teller_.answered(slot, std::move(response));
}

bool Control::take_incoming() noexcept {
    bool any = incoming_.start_reading();
    while (const auto read = incoming_.take_done()) {
        finish_incoming(*read);
        preparer_.retry(); // the thread that read it is free
        any = true;
    }
    return any;
}

void Control::finish_incoming(Incoming& incoming) noexcept {
    if (incoming.slot == nullptr) {
        return;
    }
    Slot& slot = *incoming.slot;
    slot.asked.body = std::move(incoming.body);
    if (const auto& failure = incoming.reading.failure) {
        teller_.done(slot, failure.status, failure.why);
        return;
    }
    attempt(
        [&] { proceed(incoming); },
        [&](sotto_status status, const char* why) { teller_.done(slot, status, why); }
    );
}

// Continues with the streams whose requests were prepared. Returns true if there were any.
bool Control::take_prepared() noexcept {
    bool any = false;
    for (;;) {
        const auto [stream, failure] = preparer_.take_done();
        if (stream == nullptr) {
            return any;
        }
        any = true;
        if (stream->state == Stream::State::over) {
            discard_prepared(*stream);
        } else if (failure) {
            ender_.fail(*stream, failure.status, failure.why);
        } else if (stream->prepared.handle == nullptr) {
            ender_.answer(*stream, std::move(stream->prepared.result));
        } else {
            scheduler_.changed(*stream);
        }
    }
}

// Logs ignored request fields, each name once.
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

// Starts answering a parsed request, or holds it if its model
// lacks memory. If it throws, no reference to the slot is kept.
void Control::answer(Slot& slot, Prompted prompted) {
    warn_of(prompted.unknown);
    ModelEntry* entry = world_.registry.find(sessions_.model_of(prompted));
    if (entry != nullptr && admission_.must_hold(*entry)) {
        admission_.hold(slot, *entry, prompted.on_budget);
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
        files_.read(slot, prompted.path, max_state_size(entry->model->info())); // then file_done()
        return;
    }
    const bool computes = !is_at_once(slot.asked.op);
    auto adapters = computes ? adapters_for(*entry, prompted) : AdapterSet();
    entry->used_at = world_.clock.now();
    slot.done->lanes = std::make_unique<RequestEvents>(
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
        // Choices of one request start together, so that they
        // run in batches that round alike in every run.
        const bool alone = reply->prompted.answers == 1 || stream.terms.large;
        stream.unprepared = alone && entry->model->can_prepare() && reply->op != SOTTO_OP_RESTORE_STATE;
    }
    preparer_.retry();
    streams_.reserve(streams.size());
    if (!restores) { // it was, before its file was read
        teller_.accepted(slot);
    }
    struct Undo { // if scheduling one of them throws
        Scheduler& scheduler;
        const std::vector<std::unique_ptr<Stream>>& streams;
        ~Undo() {
            for (const auto& stream : streams) {
                if (stream != nullptr) { // not moved to streams_
                    scheduler.remove(*stream);
                }
            }
        }
    } const undo{scheduler_, streams};
    for (const auto& stream : streams) {
        scheduler_.add(*stream);
        world_.recorder.request(*stream, reply->op, reply->body);
    }
    entry->streams += streams.size(); // nothing throws from here on
    slot.stream = streams.size() == 1 ? streams.front().get() : nullptr;
    slot.has_several = streams.size() > 1;
    for (auto& stream : streams) {
        streams_.add(std::move(stream));
    }
    if (const auto& session = reply->turn.session(); session != nullptr) {
        pins_.begin_turn(*entry, *session);
    }
}

bool Control::take_files() noexcept {
    bool any = false;
    for (;;) {
        const auto done = files_.take_done();
        if (done.slot == nullptr) {
            break;
        }
        file_done(*done.slot, *done.task);
        any = true;
    }
    return fetches_.take_done() || any;
}

void Control::file_done(Slot& slot, StateTask& task) noexcept {
    const auto go_on = [&] {
        if (task.failure()) {
            throw Error(task.failure().status, task.failure().why);
        }
        if (auto* read = dynamic_cast<StateRead*>(&task)) {
            slot.asked.state = std::make_shared<const PageBuffer>(read->take());
            answer(slot);
        } else {
            teller_.answered(slot, static_cast<StateWrite&>(task).response());
        }
    };
    attempt(go_on, [&](sotto_status status, const char* why) { teller_.done(slot, status, why); });
}

} // namespace sotto
