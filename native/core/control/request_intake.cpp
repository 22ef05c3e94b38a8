#include "core/control/request_intake.hpp"

#include <utility>

#include "base/attempt.hpp"
#include "request/operations.hpp"

namespace sotto {
namespace {

// Returns the names of a model's operations, separated by commas.
std::string operations_of(const ModelInfo& model) {
    std::string names;
    for (sotto_op op = 1; op <= kLastOperation; ++op) {
        if (is_operation(op) && model.does(backend_operation(op)) && !is_about_sessions(op)) {
            names += (names.empty() ? "" : ", ") + std::string(operation_name(op));
        }
    }
    return names;
}

void check_slot(const Model& loaded, std::int32_t slot) {
    const auto& model = loaded.info();
    if (!model.does(SOTTO_OP_SLOTS)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "id_slot: backend '" + loaded.backend().name() +
                "' does not number its slots; remove the field, or use another model"
        );
    }
    if (const auto slots = static_cast<std::int32_t>(model.streams); slot >= slots) {
        throw invalid_argument(
            "id_slot",
            std::to_string(slot),
            "the number of a slot, 0 to " + std::to_string(slots - 1) +
                "; use another slot, or load the model with more (options.parallel)"
        );
    }
}

// Throws unless a request to restore a state without bytes names a file.
void check_has_state(const ParsedRequest& parsed) {
    if (parsed.path.empty()) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "missing path: expected the file of a state; sotto_engine_restore_state() takes the state itself"
        );
    }
}

// Throws Error(SOTTO_ERROR_UNSUPPORTED) if the model does not support the
// operation, or a field of the request that would otherwise be ignored silently.
void check_can(const Model& loaded, sotto_op op, const ParsedRequest& parsed) {
    const auto& model = loaded.info();
    if (!model.does(backend_operation(op))) {
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
    if (parsed.slot >= 0) {
        check_slot(loaded, parsed.slot);
    }
    if (!parsed.form.empty() && !model.can(SOTTO_CAPABILITY_CONSTRAINABLE)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            backend(parsed.form) +
                "does not support structured output; remove the field, or use another model"
        );
    }
    const bool has_state = op == SOTTO_OP_SAVE_STATE || op == SOTTO_OP_RESTORE_STATE;
    if ((has_state || !parsed.path.empty()) && model.fingerprint.empty()) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            backend(parsed.path.empty() ? "state" : "path") +
                "does not support saved states; use another model"
        );
    }
    if (parsed.logprobs && !model.can(SOTTO_CAPABILITY_LOGPROBS)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            backend("logprobs") + "does not support logprobs; remove the field, or use another model"
        );
    }
    const bool needs_tokens = parsed.return_tokens || parsed.session.holds_tokens;
    if (needs_tokens && !model.can(SOTTO_CAPABILITY_TOKENS)) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            backend(parsed.return_tokens ? "return_tokens" : "session") +
                "does not report tokens; remove the field, or use another model"
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
    GuardChecks& checks,
    Signal& wake
)
    : settings_(world.settings), clock_(world.clock), registry_(world.registry), streams_(streams),
      admission_(admission), ender_(ender), sender_(sender), warnings_(world.hooks.log),
      stored_{
          Sessions(
              Sessions::kMaxSessions,
              [this](const std::string& model) {
                  const auto* entry = registry_.find(model);
                  return entry == nullptr ? 0 : entry->loaded.max_slots;
              }
          ),
          Responses()
      },
      kv_states_(world.kv_states), incoming_(streams.threads(), world.settings, checks, wake),
      files_{StateFiles(world.hooks), Quantizer(world, sender, wake)} {
    files_.states.notify(wake);
}

void RequestIntake::add(Slot& slot) {
    if (const auto read = incoming_.add(slot)) {
        proceed(*read);
    }
}

bool RequestIntake::drop(const Slot& slot) noexcept {
    return files_.states.cancel(slot) || incoming_.drop(slot); // a file being written is completed
}

void RequestIntake::cancel_reading(std::string_view why) noexcept {
    while (Slot* slot = incoming_.drop_oldest()) {
        sender_.done(*slot, SOTTO_ERROR_CANCELLED, why);
    }
}

void RequestIntake::cancel_files(std::string_view why) noexcept {
    files_.quantizer.cancel_all();
    while (Slot* slot = files_.states.cancel_oldest()) {
        sender_.done(*slot, SOTTO_ERROR_CANCELLED, why);
    }
}

// Executes a request whose body was parsed. If proceed() throws, no reference to the request is kept, so that
// the caller can end the request with the error.
void RequestIntake::proceed(Incoming& incoming) {
    Slot& slot = *incoming.slot;
    if (incoming.op == SOTTO_OP_CHECK) {
        warnings_.warn_of(incoming.parsed.unknown);
        return sender_.answered(slot, to_json(incoming.verdict));
    }
    if (incoming.op == SOTTO_OP_QUANTIZE) {
        warnings_.warn_of(incoming.parsed.unknown);
        return files_.quantizer.start(slot, incoming.parsed);
    }
    if (is_about_games(incoming.op)) {
        return start_game(slot, incoming.parsed);
    }
    if (!is_about_sessions(incoming.op)) {
        return answer(slot, std::move(incoming.parsed));
    }
    auto response = stored_.sessions.answer(incoming.op, incoming.session_request);
    streams_.pins().release_unpinned();
    sender_.answered(slot, std::move(response));
}

bool RequestIntake::take_read() noexcept {
    bool any = incoming_.start_reading();
    any = incoming_.start_checking() || any;
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
    sender_.guarded(slot, [&] { proceed(incoming); });
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
    ModelEntry* entry = registry_.find(stored_.sessions.model_of(parsed));
    const bool lists = slot.submission.op == SOTTO_OP_SLOTS && parsed.action == SlotAction::list;
    if (lists && entry != nullptr && entry->state == ModelEntry::State::evicted) { // does not load it
        return sender_.answered(slot, R"({"slots":[]})");
    }
    if (entry != nullptr && admission_.must_hold(*entry)) {
        admission_.hold(slot, *entry, parsed.on_budget);
        return;
    }
    const auto op = slot.submission.op;
    auto turn = parsed.respond ? stored_.responses.begin(slot.id.load(), parsed, slot.submission.body)
                               : stored_.sessions.begin(op, slot.id.load(), parsed, slot.submission.body);
    if (entry == nullptr || entry->state != ModelEntry::State::ready) {
        const char* why = entry == nullptr ? "' is not loaded: load it first with sotto_engine_load_model()"
                                           : "' is still loading: wait for its SOTTO_EVENT_REQUEST_DONE";
        throw Error(SOTTO_ERROR_NOT_FOUND, "model '" + parsed.model + why);
    }
    check_can(*entry->model, op, parsed);
    const bool restores =
        op == SOTTO_OP_RESTORE_STATE || (op == SOTTO_OP_SLOTS && parsed.action == SlotAction::restore);
    if (restores && slot.submission.state == nullptr) {
        check_has_state(parsed);
        sender_.accepted(slot);
        files_.states.read(slot, parsed.path, max_state_size(entry->model->info())); // file_done() continues
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
    const auto reply = std::make_shared<Reply>(
        slot, std::move(parsed), std::move(turn), std::move(adapters), entry.model->backend().fingerprint()
    );
    auto streams = streams_for(reply, entry);
    streams_.preparer().retry();
    streams_.table().reserve(streams.size());
    const bool was_read = reply->state != nullptr && !reply->parsed.path.empty();
    if (!was_read) { // a restore request was accepted before its file was read
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
        const bool speaks = !has_data(reply->op) && reply->op != SOTTO_OP_SAVE_STATE;
        if (speaks && settings_.guard != nullptr && reply->slot.listener == nullptr) {
            reply->guard =
                settings_.guard->model_rules(guard::Stage::output).empty() ? nullptr : settings_.guard;
            if (!settings_.guard->chain(guard::Stage::output).empty()) {
                stream.output.answer.check(settings_.guard);
            }
        }
        // Several choices are not prepared in advance, unless the body is large: the choices must start
        // together, so that the same streams share a batch, with the same rounding, in every run.
        const bool alone = reply->parsed.answers == 1 || stream.terms.large;
        const bool prepares = reply->op != SOTTO_OP_RESTORE_STATE && reply->op != SOTTO_OP_SLOTS;
        stream.unprepared = alone && entry.model->can_prepare() && prepares;
    }
    return streams;
}

// Starts saving or restoring all conversations; file_done() continues.
void RequestIntake::start_game(Slot& slot, ParsedRequest& parsed) {
    const bool saves = slot.submission.op == SOTTO_OP_SAVE_GAME;
    std::shared_ptr<StateTask> task;
    if (saves) {
        auto state = game_state_of(stored_, kv_states_);
        task = std::make_shared<GameWrite>(parsed.path, std::move(parsed.files), std::move(state));
    } else {
        task = std::make_shared<GameRead>(parsed.path, std::move(parsed.files), files_.states.hooks());
    }
    sender_.accepted(slot);
    files_.states.start(slot, std::move(task));
}

void RequestIntake::restore_game(Slot& slot, GameRead& read) {
    const auto fits = [this](const std::string& model, std::string_view blob) {
        const auto* entry = registry_.find(model);
        return entry != nullptr && entry->state == ModelEntry::State::ready &&
               is_state_of(*entry->model, blob);
    };
    auto counts = read.counts();
    counts.kv_states = 0;
    restore_game_state(read.take(), stored_, kv_states_, fits, counts);
    read.counts() = counts;
    streams_.pins().release_unpinned(); // of sessions that were replaced
    sender_.answered(slot, read.response());
}

bool RequestIntake::take_files() noexcept {
    bool any = files_.quantizer.advance();
    attempt(
        [&] {
            files_.states.each_progress([&](Slot& slot, float progress) {
                sender_.progress(slot, progress);
            });
        },
        [](sotto_status, const char*) {} // the next progress is sent
    );
    for (;;) {
        const auto done = files_.states.take_done();
        if (done.slot == nullptr) {
            return any;
        }
        file_done(*done.slot, *done.task);
        any = true;
    }
}

void RequestIntake::file_done(Slot& slot, StateTask& task) noexcept {
    sender_.guarded(slot, [&] {
        if (task.failure()) {
            throw Error(task.failure().status, task.failure().why);
        }
        if (auto* read = dynamic_cast<StateRead*>(&task)) {
            slot.submission.state = std::make_shared<const PageBuffer>(read->take());
            add(slot);
        } else if (auto* game = dynamic_cast<GameRead*>(&task)) {
            restore_game(slot, *game);
        } else if (const auto* saved = dynamic_cast<GameWrite*>(&task)) {
            sender_.answered(slot, saved->response());
        } else {
            sender_.answered(slot, static_cast<StateWrite&>(task).response());
        }
    });
}

} // namespace sotto
