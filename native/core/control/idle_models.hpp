// Finds idle models, and the memory that they use.
#pragma once

#include <cstdint>

#include "core/control/step_runner.hpp"
#include "core/model/registry.hpp"

namespace sotto {

// Returns true if the model is ready and has slots.
bool has_slots(const ModelEntry& entry) noexcept;
// Returns true if the model has requests, streams or adapter changes that have not ended.
bool is_in_use(const ModelEntry& entry) noexcept;

// Control thread only.
class IdleModels {
public:
    IdleModels(const Registry& registry, const StepRunner& runner) : registry_(registry), runner_(runner) {}

    bool is_idle(const ModelEntry& entry) const noexcept;
    // Returns true if no stream, job or thread uses a model that is being unloaded.
    bool may_be_freed(const ModelEntry& entry) const noexcept;
    // Returns the bytes that all idle models other than `except` use.
    std::uint64_t bytes(const ModelEntry* except) const noexcept;
    // Returns the idle model, other than `except`, to evict or shrink first; null if none. Order:
    // models without pinned sessions, then models that have slots to free, then least recently used.
    ModelEntry* least_recently_used(const ModelEntry* except) const noexcept;

private:
    const Registry& registry_;
    const StepRunner& runner_;
};

} // namespace sotto
