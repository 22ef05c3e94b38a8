#include "core/control/adapter_changes.hpp"

#include <algorithm>
#include <utility>

#include "text/json_reader.hpp"

namespace sotto {
namespace {

std::string excerpt_of(const std::string& id) {
    constexpr std::size_t kLongest = 128;
    return excerpt(id, kLongest);
}

auto named(auto& entry, const std::string& name) {
    return std::ranges::find_if(entry.adapters.loaded, [&](const auto& adapter) {
        return adapter->name == name;
    });
}

// Throws Error(SOTTO_ERROR_NOT_FOUND) whose text lists the loaded
// adapters. `what`: name of the invalid parameter.
[[noreturn]] void refuse_name(const ModelEntry& entry, const std::string& what, const std::string& name) {
    std::string loaded;
    for (const auto& adapter : entry.adapters.loaded) {
        loaded += (loaded.empty() ? "" : ", ") + excerpt_of(adapter->name);
    }
    throw Error(
        SOTTO_ERROR_NOT_FOUND,
        invalid(what, excerpt_of(name), "an adapter of model '" + excerpt_of(entry.submission.id) + "'") +
            " (" + (loaded.empty() ? "none is loaded" : "loaded: " + loaded) +
            "); load it first with sotto_engine_load_adapter()"
    );
}

bool is_used(const std::shared_ptr<Adapter>& retired) noexcept {
    return retired.use_count() > 1; // a request also holds the adapter
}

} // namespace

void AdapterChanges::add(Slot& slot) {
    ModelEntry* entry = registry_.find(slot.submission.id);
    if (entry == nullptr || (entry->is_new() && entry->state == ModelEntry::State::loading)) {
        throw Error(
            SOTTO_ERROR_NOT_FOUND,
            "model '" + excerpt_of(slot.submission.id) +
                (entry == nullptr ? "' is not loaded: load it first with sotto_engine_load_model()"
                                  : "' is still loading: wait for its SOTTO_EVENT_REQUEST_DONE")
        );
    }
    const bool loads = slot.submission.kind == Submission::Kind::load_adapter;
    entry->adapters.changes.reserve(entry->adapters.changes.size() + 1);
    if (loads) {
        sender_.accepted(slot);
    }
    entry->adapters.changes.push_back(&slot); // capacity was reserved
}

bool AdapterChanges::apply() noexcept {
    bool any = false;
    for (const auto& entry : registry_.entries()) {
        while (!entry->loader.owns && entry->adapters.loading == nullptr &&
               !entry->adapters.changes.empty() &&
               entry->adapters.changes.front()->submission.kind != Submission::Kind::load_adapter) {
            Slot& slot = *entry->adapters.changes.front();
            entry->adapters.changes.erase(entry->adapters.changes.begin());
            sender_.guarded(slot, [&] {
                apply(*entry, slot.submission);
                sender_.done(slot, SOTTO_OK, "");
            });
            any = true;
        }
    }
    return any;
}

void AdapterChanges::apply(ModelEntry& entry, const Submission& submission) {
    const auto found = named(entry, submission.adapter);
    if (found == entry.adapters.loaded.end()) {
        refuse_name(entry, "name", submission.adapter);
    }
    if (submission.kind == Submission::Kind::scale_adapter) {
        (*found)->scale = submission.scale;
    } else {
        entry.adapters.retired.reserve(entry.adapters.retired.size() + 1); // nothing throws from here on
        entry.adapters.retired.push_back(std::move(*found));
        entry.adapters.loaded.erase(found);
    }
    registry_.publish();
}

bool AdapterChanges::need_job(const ModelEntry& entry) noexcept {
    const bool ready = entry.state == ModelEntry::State::ready && !entry.loader.owns;
    return ready &&
           (!entry.adapters.changes.empty() || !std::ranges::all_of(entry.adapters.retired, is_used));
}

void AdapterChanges::add_to(Job& job, ModelEntry& entry) {
    if (!need_job(entry)) {
        return;
    }
    const bool loads = !entry.adapters.changes.empty();
    auto fresh = loads ? std::make_shared<Adapter>() : nullptr;
    if (loads) {
        const auto& submission = entry.adapters.changes.front()->submission;
        fresh->number = ++numbers_;
        fresh->name = submission.adapter;
        fresh->path = submission.path;
        fresh->scale = submission.scale;
    }
    job.freed.reserve(entry.adapters.retired.size());
    entry.adapters.retired.reserve(
        entry.adapters.retired.size() + 2
    ); // for the new adapter, or the adapter that it replaces
    entry.adapters.loaded.reserve(entry.adapters.loaded.size() + 1); // nothing throws from here on
    const auto unused = std::ranges::partition(entry.adapters.retired, is_used);
    job.freed.assign(unused.begin(), unused.end());
    entry.adapters.retired.erase(unused.begin(), unused.end());
    if (loads) {
        entry.adapters.loading = entry.adapters.changes.front();
        entry.adapters.changes.erase(entry.adapters.changes.begin());
        job.what = AdapterJob{std::move(fresh)};
    }
}

void AdapterChanges::loaded(const Job& job, AdapterJob& load) noexcept {
    auto& entry = *job.entry;
    Slot* slot = std::exchange(entry.adapters.loading, nullptr);
    auto adapter = std::move(load.adapter);
    const bool loaded = adapter->handle != nullptr;
    if (slot == nullptr || !loaded) { // the request was cancelled, or loading failed
        if (loaded) {
            entry.adapters.retired.push_back(std::move(adapter)); // capacity was reserved
        }
        if (slot != nullptr) {
            sender_.done(*slot, job.failure.status, job.failure.why);
        }
        return;
    }
    const auto old = named(entry, adapter->name);
    if (old == entry.adapters.loaded.end()) {
        entry.adapters.loaded.push_back(std::move(adapter));
    } else {
        entry.adapters.retired.push_back(std::exchange(*old, std::move(adapter))); // capacity was reserved
    }
    registry_.publish();
    sender_.done(*slot, SOTTO_OK, "");
}

bool AdapterChanges::cancel(ModelEntry& entry, const Slot& slot) noexcept {
    if (entry.adapters.loading == &slot) {
        entry.adapters.loading = nullptr;
        return true;
    }
    return std::erase(entry.adapters.changes, &slot) > 0;
}

void AdapterChanges::drop_all(ModelEntry& entry, sotto_status status, std::string_view why) noexcept {
    for (Slot* slot : std::exchange(entry.adapters.changes, {})) {
        sender_.done(*slot, status, why);
    }
    if (Slot* slot = std::exchange(entry.adapters.loading, nullptr)) {
        sender_.done(*slot, status, why);
    }
}

AdapterSet adapters_for(const ModelEntry& entry, const ParsedRequest& parsed) {
    AdapterSet set;
    const auto use = [&](const std::shared_ptr<Adapter>& adapter, float scale) {
        if (scale == 0) {
            return; // scale 0 counts as no adapter
        }
        if (const auto& failure = adapter->failure) {
            throw Error(failure.status, failure.why);
        }
        set.push_back({adapter, scale});
    };
    if (!parsed.adapters) {
        if (const auto found = named(entry, kDefaultAdapter); found != entry.adapters.loaded.end()) {
            use(*found, (*found)->scale);
        }
        return set;
    }
    for (std::size_t i = 0; i < parsed.adapters->size(); ++i) {
        const auto& wanted = (*parsed.adapters)[i];
        const auto found = named(entry, wanted.name);
        if (found == entry.adapters.loaded.end()) {
            refuse_name(entry, "lora[" + std::to_string(i) + "].name", wanted.name);
        }
        use(*found, wanted.scale ? static_cast<float>(*wanted.scale) : (*found)->scale);
    }
    std::ranges::sort(set, {}, [](const AdapterUse& one) { return one.adapter->number; });
    return set;
}

} // namespace sotto
