// Adapters that hosts load, unload and scale.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/control/job.hpp"
#include "core/control/teller.hpp"
#include "core/model/registry.hpp"

namespace sotto {

// Changes of one model's adapters take effect in the order in which they were asked for. A request keeps the
// adapters that it was accepted with: an adapter that was unloaded or replaced is freed once no request uses
// it. Control thread only.
class AdapterChanges {
public:
    AdapterChanges(Registry& registry, Teller& teller) : registry_(registry), teller_(teller) {}

    // Takes a request that changes an adapter. Throws Error(SOTTO_ERROR_NOT_FOUND) if its model is not
    // loaded.
    void add(Slot& slot);
    // Carries out the unloads and scale changes that are first in line. Returns true if there were any.
    bool apply() noexcept;
    // Takes a cancelled change from a model; an adapter that is being loaded is then freed. Returns false if
    // the change is not one of this model.
    static bool cancel(ModelEntry& entry, const Slot& slot) noexcept;
    // Ends all changes of a model.
    void drop_all(ModelEntry& entry, sotto_status status, std::string_view why) noexcept;

    // Returns true if a job has adapters of the model to free or to load.
    static bool need_job(const ModelEntry& entry) noexcept;
    // Adds to a job the adapters that it is to free, and the one that it is to load. Throws before anything
    // has changed, or not at all.
    void add_to(Job& job, ModelEntry& entry);
    // Takes the result of a job that loaded an adapter.
    void loaded(const Job& job, AdapterJob& load) noexcept;

private:
    void apply(ModelEntry& entry, const Asked& asked);

    Registry& registry_;
    Teller& teller_;
    std::uint64_t numbers_ = 0; // given to adapters
};

// Returns the adapters that a request uses. Throws Error(SOTTO_ERROR_NOT_FOUND) if one is not loaded.
AdapterSet adapters_for(const ModelEntry& entry, const Prompted& prompted);

} // namespace sotto
