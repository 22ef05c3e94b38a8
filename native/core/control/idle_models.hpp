// Finds idle models and the memory that they hold.
#pragma once

#include <cstdint>

#include "core/control/step_runner.hpp"
#include "core/model/registry.hpp"

namespace sotto {

// Returns true if a model that is ready has slots.
bool has_slots(const ModelEntry& entry) noexcept;
// Returns true if a request or stream of the model has not ended.
bool is_in_use(const ModelEntry& entry) noexcept;

// Control thread only.
class IdleModels {
public:
    IdleModels(const Registry& registry, const StepRunner& runner) : registry_(registry), runner_(runner) {}

    bool is_idle(const ModelEntry& entry) const noexcept;
    // Bytes that all idle models hold, except one.
    std::uint64_t bytes(const ModelEntry* except) const noexcept;
    // The least recently used idle model, except one: of those that have slots, if any has. Models with
    // pinned sessions come last.
    ModelEntry* least_recently_used(const ModelEntry* except) const noexcept;

private:
    const Registry& registry_;
    const StepRunner& runner_;
};

} // namespace sotto
