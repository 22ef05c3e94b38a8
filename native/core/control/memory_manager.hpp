// Keeps memory use within the budget, and frees memory for models and requests that wait.
#pragma once

#include <cstdint>

#include "core/control/admission.hpp"
#include "core/control/idle_models.hpp"
#include "core/control/model_manager.hpp"
#include "core/control/model_resizer.hpp"
#include "core/control/state_spiller.hpp"
#include "core/control/step_runner.hpp"
#include "core/control/stream_table.hpp"
#include "core/control/world.hpp"

namespace sotto {

// Takes memory from idle models, least recently used first: first slots with
// their KV cache, then weights. If the budget was lowered, busy models lose
// slots too, and their streams take turns. Control thread only.
class MemoryManager {
public:
    MemoryManager(
        const World& world,
        const StreamTable& streams,
        const IdleModels& idle,
        StepRunner& runner,
        Admission& admission,
        ModelManager& models,
        ModelResizer& resizer,
        StateSpiller& spiller
    )
        : registry_(world.registry), ledger_(world.ledger), streams_(streams), idle_(idle), runner_(runner),
          admission_(admission), models_(models), resizer_(resizer), spiller_(spiller) {}

    // Loads and resizes models, admits requests, and frees memory. Returns true if anything was started.
    bool balance();

private:
    bool wake_or_admit(ModelEntry& entry);
    bool go_on(ModelEntry& entry);
    bool make_room(std::uint64_t bytes, ModelEntry* model);
    bool make_room_of(ModelEntry& idle);
    bool is_out_of_reach(std::uint64_t bytes, const ModelEntry& model) const noexcept;
    bool lacks_in_vain(ModelEntry& model);
    bool shrink_largest(std::uint64_t bytes, bool all);
    bool is_settling() const noexcept;

    Registry& registry_;
    const Ledger& ledger_;
    const StreamTable& streams_;
    const IdleModels& idle_;
    StepRunner& runner_;
    Admission& admission_;
    ModelManager& models_;
    ModelResizer& resizer_;
    StateSpiller& spiller_;
};

} // namespace sotto
