#include "core/control/request_intake.hpp"

#include <utility>

#include "base/attempt.hpp"

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
void check_can(const Model& loaded, sotto_op op, const ParsedRequest& parsed) {
    const auto& model = loaded.info();
    if (!model.does(op)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            invalid(
                "op",
                operation_name(op),
                "an operation of model '" + parsed.model + "' (" + operations_of(model) +
                    "); use another model"
            )
        );
    }
    const auto backend = [&](const std::string& field) {
        return field + ": backend '" + loaded.backend().name() + "' ";
    };
    if (!parsed.form.empty() && !model.can(SOTTO_CAPABILITY_CONSTRAINABLE)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            backend(parsed.form) +
                "does not support structured output; remove the field, or use another model"
        );
    }
    if (!parsed.path.empty() && model.fingerprint.empty()) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED, backend("path") + "does not support saved states; use another model"
        );
    }
    if (parsed.logprobs && !model.can(SOTTO_CAPABILITY_LOGPROBS)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            backend("logprobs") + "does not support logprobs; remove the field, or use another model"
        );
    }
}

} // namespace

RequestIntake::RequestIntake(
    const World& world,
    ActiveStreams& streams,
    Admission& admission,
    RequestEnder& ender,
    EventSender& sender,
    Signal& wake
)
    : settings_(world.settings), clock_(world.clock), registry_(world.registry), streams_(streams),
      admission_(admission), ender_(ender), sender_(sender), warnings_(world.hooks.log),
      sessions_(
          Sessions::kMaxSessions,
          [this](const std::string& model) {
              const auto* entry = registry_.find(model);
              return entry == nullptr ? 0 : entry->loaded.max_slots;
          }
      ),
      incoming_(streams.threads(), world.settings, wake), files_(world.hooks) {
    files_.notify(wake);
}

void RequestIntake::add(Slot& slot) {
    if (const auto read = incoming_.add(slot)) {
        proceed(*read);
    }
}

bool RequestIntake::drop(const Slot& slot) noexcept {
    return files_.cancel(slot) || incoming_.drop(slot); // a file being written is completed
}

void RequestIntake::cancel_reading(std::string_view why) noexcept {
    while (Slot* slot = incoming_.drop_oldest()) {
        sender_.done(*slot, SOTTO_ERROR_CANCELLED, why);
    }
}

void RequestIntake::cancel_files(std::string_view why) noexcept {
    while (Slot* slot = files_.cancel_oldest()) {
        sender_.done(*slot, SOTTO_ERROR_CANCELLED, why);
    }
}

// Executes a request whose body was parsed. If proceed() throws, no reference to the request is kept, so that
// the caller can end the request with the error.
void RequestIntake::proceed(Incoming& incoming) {
    Slot& slot = *incoming.slot;
    if (!is_about_sessions(incoming.op)) {
        return answer(slot, std::move(incoming.parsed));
    }
    auto response = sessions_.answer(incoming.op, incoming.session_request);
    streams_.pins().release_unpinned();
    sender_.answered(slot, std::move(response));
}

bool RequestIntake::take_read() noexcept {
    bool any = incoming_.start_reading();
    while (const auto read = incoming_.take_done()) {
        finish_reading(*read);
        streams_.preparer().retry(); // the thread that read the request is free
        any = true;
    }
    return any;
}

void RequestIntake::finish_reading(Incoming& incoming) noexcept {
    if (incoming.slot == nullptr) {
        return;
    }
    Slot& slot = *incoming.slot;
    slot.submission.body = std::move(incoming.body);
    if (const auto& failure = incoming.reading.failure) {
        sender_.done(slot, failure.status, failure.why);
        return;
    }
    attempt(
        [&] { proceed(incoming); },
        [&](sotto_status status, const char* why) { sender_.done(slot, status, why); }
    );
}

bool RequestIntake::take_prepared() noexcept {
    bool any = false;
    for (;;) {
        const auto [stream, failure] = streams_.preparer().take_done();
        if (stream == nullptr) {
            return any;
        }
        any = true;
        if (stream->state == Stream::State::over) {
            discard_prepared(*stream);
        } else if (failure) {
            ender_.fail(*stream, failure.status, failure.why);
        } else if (stream->preparation.request.handle == nullptr) {
            ender_.answer(*stream, std::move(stream->preparation.request.result));
        } else {
            streams_.scheduler().changed(*stream);
        }
    }
}

// Starts answering a parsed request, or holds the request back while its
// model lacks memory. If answer() throws, no reference to the slot is kept.
void RequestIntake::answer(Slot& slot, ParsedRequest parsed) {
    warnings_.warn_of(parsed.unknown);
    ModelEntry* entry = registry_.find(sessions_.model_of(parsed));
    if (entry != nullptr && admission_.must_hold(*entry)) {
        admission_.hold(slot, *entry, parsed.on_budget);
        return;
    }
    auto turn = sessions_.begin(slot.submission.op, slot.id.load(), parsed, slot.submission.body);
    if (entry == nullptr || entry->state != ModelEntry::State::ready) {
        const char* why = entry == nullptr ? "' is not loaded: load it first with sotto_engine_load_model()"
                                           : "' is still loading: wait for its SOTTO_EVENT_REQUEST_DONE";
        throw Error(SOTTO_ERROR_NOT_FOUND, "model '" + parsed.model + why);
    }
    check_can(*entry->model, slot.submission.op, parsed);
    if (slot.submission.op == SOTTO_OP_RESTORE_STATE && slot.submission.state == nullptr) {
        sender_.accepted(slot);
        files_.read(slot, parsed.path, max_state_size(entry->model->info())); // file_done() continues
        return;
    }
    start(slot, *entry, std::move(parsed), std::move(turn));
}

// Starts the streams that answer a request. If start() throws, no reference to the slot is kept.
void RequestIntake::start(Slot& slot, ModelEntry& entry, ParsedRequest parsed, Turn turn) {
    auto adapters = is_at_once(slot.submission.op) ? AdapterSet() : adapters_for(entry, parsed);
    entry.requests.used_at = clock_.now();
    slot.done->events = std::make_unique<RequestEvents>(
        parsed.answers, slot.target_tps.load(std::memory_order_relaxed), settings_.target_tps
    );
    const auto reply = std::make_shared<Reply>(slot, std::move(parsed), std::move(turn), std::move(adapters));
    auto streams = streams_for(reply, entry);
    streams_.preparer().retry();
    streams_.table().reserve(streams.size());
    if (reply->op != SOTTO_OP_RESTORE_STATE) { // a restore request was accepted before its file was read
        sender_.accepted(slot);
    }
    streams_.add(std::move(streams));
}

std::vector<std::unique_ptr<Stream>>
RequestIntake::streams_for(const std::shared_ptr<Reply>& reply, ModelEntry& entry) {
    std::vector<std::unique_ptr<Stream>> streams;
    for (std::uint32_t i = 0; i < reply->parsed.answers; ++i) {
        streams.push_back(
            std::make_unique<Stream>(reply, i, entry, streams_.table().next_number(), clock_.now())
        );
        auto& stream = *streams.back();
        // Several choices are not prepared in advance, unless the body is large: the choices must start
        // together, so that the same streams share a batch, with the same rounding, in every run.
        const bool alone = reply->parsed.answers == 1 || stream.terms.large;
        stream.unprepared = alone && entry.model->can_prepare() && reply->op != SOTTO_OP_RESTORE_STATE;
    }
    return streams;
}

bool RequestIntake::take_files() noexcept {
    bool any = false;
    for (;;) {
        const auto done = files_.take_done();
        if (done.slot == nullptr) {
            return any;
        }
        file_done(*done.slot, *done.task);
        any = true;
    }
}

void RequestIntake::file_done(Slot& slot, StateTask& task) noexcept {
    const auto go_on = [&] {
        if (task.failure()) {
            throw Error(task.failure().status, task.failure().why);
        }
        if (auto* read = dynamic_cast<StateRead*>(&task)) {
            slot.submission.state = std::make_shared<const PageBuffer>(read->take());
            add(slot);
        } else {
            sender_.answered(slot, static_cast<StateWrite&>(task).response());
        }
    };
    attempt(go_on, [&](sotto_status status, const char* why) { sender_.done(slot, status, why); });
}

} // namespace sotto
