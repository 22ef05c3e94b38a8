#include "core/control/model_manager.hpp"

#include <algorithm>
#include <utility>

#include "core/memory/report.hpp"

namespace sotto {
namespace {

bool same_model(const Submission& left, const Submission& right) {
    return left.path == right.path && left.backend == right.backend && left.options == right.options;
}

ModelTraits traits_of(const ModelInfo& info) {
    return {
        .streams = info.streams,
        .step_tokens = info.step_tokens,
        .min_step_tokens = info.min_step_tokens,
        .batches = info.can(SOTTO_CAPABILITY_BATCHABLE),
        .parks = info.can(SOTTO_CAPABILITY_PARKABLE),
    };
}

// Sets the slot counts of a loaded model. If it was loaded with fewer
// slots than requested, it may get the requested number later.
void learn_slots(ModelEntry& entry) noexcept {
    const auto& info = entry.model->info();
    entry.loaded.first_slots = entry.loaded.max_slots = info.streams;
    entry.loaded.first_compute = entry.loaded.max_compute = info.compute;
    entry.loaded.kv_per_slot = std::max<std::uint64_t>(1, info.kv / info.streams);
    entry.loaded.min_bytes = info.weights + info.compute + info.kv / info.streams + entry.adapters.bytes();
    if (!entry.model->can_resize()) {
        return;
    }
    for (const auto& rung : entry.need.plan.rungs) {
        if (rung.info.bytes() > kMaxBytes) {
            continue; // exceeds any budget
        }
        entry.loaded.max_slots = std::max(entry.loaded.max_slots, rung.info.streams);
        entry.loaded.max_compute = std::max(entry.loaded.max_compute, rung.info.compute);
    }
}

} // namespace

void ModelManager::load(Slot& slot) {
    ModelEntry* entry = registry_.find(slot.submission.id);
    const bool given_up = entry != nullptr && entry->loader.cancelled.load();
    if (entry != nullptr && !given_up && !same_model(entry->submission, slot.submission)) {
        throw Error(
            SOTTO_ERROR_STATE,
            "model '" + slot.submission.id +
                "' is already loaded with another path, backend or options: unload it first, or choose "
                "another id"
        );
    }
    if (entry != nullptr && entry->state == ModelEntry::State::ready) {
        sender_.done(slot, SOTTO_OK, "");
        return;
    }
    sender_.accepted(slot);
    if (entry != nullptr && !given_up) {
        entry->requests.waiting.push_back(&slot); // an evicted model is loaded again
        return;
    }
    begin_loading(slot, ModelEntry::State::loading, entry);
}

void ModelManager::plan(Slot& slot) {
    sender_.accepted(slot);
    begin_loading(slot, ModelEntry::State::planning, nullptr);
}

void ModelManager::begin_loading(Slot& slot, ModelEntry::State state, ModelEntry* given_up) {
    auto fresh = std::make_unique<ModelEntry>(slot.submission);
    fresh->requests.waiting.push_back(&slot);
    fresh->state = state;
    fresh->requests.used_at = clock_.now();
    registry_.reserve(); // nothing throws from here on
    if (given_up != nullptr) {
        given_up->state = ModelEntry::State::leaving; // its load was cancelled: the result is ignored
    }
    hand_to_loader(*fresh);
    registry_.add(std::move(fresh));
    registry_.publish();
}

void ModelManager::unload(Slot& slot) {
    ModelEntry* entry = registry_.find(slot.submission.id);
    if (entry == nullptr) {
        throw Error(SOTTO_ERROR_NOT_FOUND, "model '" + slot.submission.id + "' is not loaded: check the id");
    }
    std::vector<Slot*> waiting = {&slot};
    sender_.accepted(slot); // nothing throws from here on
    waiting.swap(entry->requests.waiting);
    for (Slot* loading : waiting) {
        sender_.done(*loading, SOTTO_ERROR_CANCELLED, "the model was unloaded while it was being loaded");
    }
    leave(*entry, "the model was unloaded");
}

// Removes the model from lookups and ends its requests. It is freed once nothing uses it.
void ModelManager::leave(ModelEntry& entry, std::string_view why) noexcept {
    entry.state = ModelEntry::State::leaving;
    entry.loader.cancelled = true;
    for (const auto& held : std::exchange(entry.requests.held, {})) {
        sender_.done(*held.slot, SOTTO_ERROR_CANCELLED, why);
    }
    adapters_.drop_all(entry, SOTTO_ERROR_CANCELLED, why);
    registry_.publish();
    ender_.fail_all(entry, SOTTO_ERROR_CANCELLED, why);
    pins_.release_all(entry, false);
}

void ModelManager::leave_all(std::string_view why) noexcept {
    for (const auto& entry : registry_.entries()) {
        if (entry->state == ModelEntry::State::leaving) {
            continue;
        }
        for (Slot* slot : std::exchange(entry->requests.waiting, {})) {
            sender_.done(*slot, SOTTO_ERROR_CANCELLED, why);
        }
        leave(*entry, why);
    }
}

bool ModelManager::cancel(Slot& slot) noexcept {
    for (const auto& entry : registry_.entries()) {
        if (entry->state != ModelEntry::State::leaving &&
            cancel(*entry, slot)) { // unloading cannot be cancelled
            return true;
        }
    }
    return false;
}

bool ModelManager::cancel(ModelEntry& entry, Slot& slot) noexcept {
    const bool held =
        std::erase_if(entry.requests.held, [&](const auto& one) { return one.slot == &slot; }) > 0;
    if (held || AdapterChanges::cancel(entry, slot)) {
        sender_.done(slot, SOTTO_ERROR_CANCELLED, "the request was cancelled");
        return true;
    }
    if (std::erase(entry.requests.waiting, &slot) == 0) {
        return false;
    }
    const bool unwanted = entry.requests.waiting.empty() && entry.is_new();
    entry.loader.cancelled = entry.loader.cancelled.load() || unwanted; // set before the host gets the event
    sender_.done(slot, SOTTO_ERROR_CANCELLED, "loading was cancelled");
    if (unwanted && !entry.loader.owns) { // the model waited for memory
        leave(entry, "loading was cancelled");
    }
    return true;
}

void ModelManager::evict(ModelEntry& entry, bool remembers) noexcept {
    if (!entry.slots.pinned.empty()) {
        pins_.release_all(entry, remembers);
        return;
    }
    entry.state = ModelEntry::State::evicting;
    entry.loader.frees = entry.bytes();
    registry_.publish();
    hand_to_loader(entry);
}

void ModelManager::hand_to_loader(ModelEntry& entry) noexcept {
    entry.loader.owns = true;
    loader_.take_on(entry);
}

void ModelManager::free_leaving() noexcept {
    const auto& entries = registry_.entries();
    for (std::size_t i = 0; i < entries.size();) {
        auto& entry = *entries[i];
        if (entry.state != ModelEntry::State::leaving || !idle_.may_be_freed(entry)) {
            ++i;
        } else if (entry.model != nullptr) {
            hand_to_loader(entry);
            ++i;
        } else {
            gone(entry, SOTTO_OK, "");
        }
    }
}

bool ModelManager::take_loader_notes() {
    bool any = false;
    while (auto note = loader_.take()) {
        any = true;
        ModelEntry& entry = *note->entry;
        if (note->kind == LoaderNote::Kind::progress) {
            tell_progress(entry, note->progress);
            continue;
        }
        entry.loader.owns = false;
        entry.need.plan = std::move(note->plan);
        entry.model = note->model != nullptr ? std::move(note->model) : std::move(entry.model);
        const auto kind = note->kind;
        const auto failure = std::move(note->failure);
        note->failure = {};
        entry.loader.final_note = std::move(note); // reused for the loader's next work on this model
        came_back(entry, kind, failure);
    }
    return any;
}

// Processes the outcome of the loader's work on a model.
void ModelManager::came_back(ModelEntry& entry, LoaderNote::Kind kind, const Failure& failure) noexcept {
    if (entry.state == ModelEntry::State::leaving && kind != LoaderNote::Kind::loaded) {
        return; // free_leaving() removes the model
    }
    switch (kind) {
    case LoaderNote::Kind::loaded:
        return loaded(entry);
    case LoaderNote::Kind::planned:
        return planned(entry);
    case LoaderNote::Kind::lacks:
        entry.need.bytes = entry.need.plan.least();
        entry.need.bytes += std::min(entry.adapters.bytes(), UINT64_MAX - entry.need.bytes);
        return;
    case LoaderNote::Kind::freed:
        entry.state = ModelEntry::State::evicted;
        registry_.publish();
        return;
    default:
        return refuse(entry, failure.status, failure.why);
    }
}

// If tell_progress() throws, the next event reports the progress.
void ModelManager::tell_progress(ModelEntry& entry, float progress) {
    if (entry.state != ModelEntry::State::loading) {
        return;
    }
    for (Slot* slot : entry.requests.waiting) {
        sender_.progress(*slot, progress);
    }
}

void ModelManager::loaded(ModelEntry& entry) noexcept {
    const auto& info = entry.model->info();
    const bool is_new = entry.is_new();
    static_cast<ScheduledModel&>(entry) = ScheduledModel(); // measurements may be stale
    entry.traits = traits_of(info);
    entry.number = ++numbers_;
    entry.loaded.backend = std::move(entry.loader.final_note->backend);
    entry.loaded.details = std::move(entry.loader.final_note->details);
    entry.loaded.context = info.context;
    entry.loaded.operations = info.operations;
    learn_slots(entry);
    entry.loaded.host = info.host;
    entry.loader.shape.streams = entry.loader.shape.layers = 0; // the next load may have more of both
    entry.need.may_shrink = false;
    entry.requests.used_at = clock_.now();
    recorder_.model(entry, entry.submission.id);
    if (is_new && entry.requests.waiting.empty()) {
        leave(entry, "loading was cancelled"); // cancelled after the loader had finished
    }
    if (entry.state == ModelEntry::State::leaving) {
        return;
    }
    entry.state = ModelEntry::State::ready;
    preparer_.retry();
    registry_.publish();
    for (Slot* slot : std::exchange(entry.requests.waiting, {})) {
        sender_.done(*slot, SOTTO_OK, "");
    }
}

void ModelManager::planned(ModelEntry& entry) noexcept {
    const auto& submission = entry.submission;
    const auto ceiling = ledger_.ceiling();
    const bool alone = submission.budget != 0;
    const auto budget = alone ? submission.budget : ceiling;
    const auto used = alone ? 0 : ledger_.used();
    const auto idle = alone ? 0 : idle_.bytes(nullptr);
    for (Slot* slot : std::exchange(entry.requests.waiting, {})) {
        sender_.guarded(*slot, [&] {
            sender_.answered(*slot, plan_json(submission.id, entry.need.plan, budget, used, idle));
        });
    }
    entry.state = ModelEntry::State::leaving;
}

void ModelManager::refuse(ModelEntry& entry, sotto_status status, std::string_view why) noexcept {
    entry.need.bytes = 0;
    if (entry.is_new()) {
        gone(entry, status, why);
        return;
    }
    for (Slot* slot : std::exchange(entry.requests.waiting, {})) {
        sender_.done(*slot, status, why);
    }
    for (const auto& held : std::exchange(entry.requests.held, {})) {
        sender_.done(*held.slot, status, why);
    }
    adapters_.drop_all(entry, status, why);
    if (entry.state == ModelEntry::State::loading) {
        entry.state = ModelEntry::State::evicted;
        registry_.publish();
    }
}

// Removes a model that was freed or never loaded, and ends the requests that wait for its load or unload.
void ModelManager::gone(ModelEntry& entry, sotto_status status, std::string_view why) noexcept {
    const bool left = entry.state == ModelEntry::State::leaving;
    const auto waiting = std::exchange(entry.requests.waiting, {});
    registry_.remove(entry);
    registry_.publish();
    for (Slot* slot : waiting) {
        sender_.done(*slot, left ? SOTTO_OK : status, left ? "" : why);
    }
}

} // namespace sotto
