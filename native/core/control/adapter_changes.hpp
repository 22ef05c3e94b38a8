// Loads, unloads and scales the LoRA adapters of models.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/control/event_sender.hpp"
#include "core/control/job.hpp"
#include "core/model/registry.hpp"

namespace sotto {

// Applies the changes to a model's adapters in the order of their requests. A
// request keeps the adapters that it was accepted with: an adapter that was
// unloaded or replaced is freed once no request uses it. Control thread only.
class AdapterChanges {
public:
    AdapterChanges(Registry& registry, EventSender& sender) : registry_(registry), sender_(sender) {}

    // Queues a request that loads, unloads or scales an adapter.
    // Throws Error(SOTTO_ERROR_NOT_FOUND) if its model is not
    // loaded, or is still loading for the first time.
    void add(Slot& slot);
    // Executes the unloads and scale changes at the front of
    // each model's queue. Returns true if there were any.
    bool apply() noexcept;
    // Removes a cancelled change from a model. An adapter that is being loaded for the change is
    // freed after its load. Returns false if the change does not belong to the model.
    static bool cancel(ModelEntry& entry, const Slot& slot) noexcept;
    // Ends all pending changes of a model with `status`.
    void drop_all(ModelEntry& entry, sotto_status status, std::string_view why) noexcept;

    // Returns true if a job must free or load adapters of the model.
    static bool need_job(const ModelEntry& entry) noexcept;
    // Adds to a job the adapters to free, and the next
    // adapter to load. If it throws, nothing has changed.
    void add_to(Job& job, ModelEntry& entry);
    // Processes the result of a job that loaded an adapter.
    void loaded(const Job& job, AdapterJob& load) noexcept;

private:
    void apply(ModelEntry& entry, const Submission& submission);

    Registry& registry_;
    EventSender& sender_;
    std::uint64_t numbers_ = 0; // of the newest adapter
};

// Returns the adapters that a request uses. Throws Error(SOTTO_ERROR_NOT_FOUND) if one of them is not
// loaded. If an adapter could not be reloaded after its model was evicted, throws the error of the reload.
AdapterSet adapters_for(const ModelEntry& entry, const ParsedRequest& parsed);

} // namespace sotto
