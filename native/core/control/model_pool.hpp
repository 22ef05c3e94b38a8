// The models of an engine, and the memory that they share.
#pragma once

#include <string_view>

#include "core/control/active_streams.hpp"
#include "core/control/adapter_changes.hpp"
#include "core/control/admission.hpp"
#include "core/control/device_evacuation.hpp"
#include "core/control/device_moves.hpp"
#include "core/control/event_sender.hpp"
#include "core/control/idle_models.hpp"
#include "core/control/job_dispatch.hpp"
#include "core/control/memory_manager.hpp"
#include "core/control/model_manager.hpp"
#include "core/control/model_resizer.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/state_spiller.hpp"
#include "core/control/world.hpp"

namespace sotto {

// Loads models, changes their adapters and their slots, moves them between devices,
// and keeps their memory within the budget. Control thread only, except give_up_loading().
class ModelPool {
public:
    // `wake`: notified when a model was loaded or freed, and when KV cache
    // was spilled. `answer`: starts answering a request that was held.
    ModelPool(
        const World& world,
        ActiveStreams& streams,
        JobDispatch& jobs,
        RequestEnder& ender,
        EventSender& sender,
        DeviceMoves& moves,
        Signal& wake,
        Admission::Answer answer
    );

    const Registry& registry() const noexcept { return registry_; }

    // Starts a request that loads, unloads or plans a model, or changes its
    // adapters. If submit() throws, no reference to the slot is kept.
    void submit(Slot& slot);
    // Ends a cancelled request if it waits for a model.
    void cancel(Slot& slot) noexcept { models_.cancel(slot); }
    // Unloads all models, as the engine is being destroyed.
    void leave_all(std::string_view why) noexcept { models_.leave_all(why); }
    // Cancels the loads of models, as the engine is about to be destroyed. Any thread.
    void give_up_loading() noexcept { models_.give_up_loading(); }

    // Process the results of the loader, and apply adapter changes. Each returns true if anything changed.
    bool take_loader_notes() { return models_.take_loader_notes(); }
    bool apply_adapters() noexcept { return adapters_.apply(); }
    // Starts the evictions that the devices require. Returns true if any was started.
    bool evacuate() noexcept { return evacuation_.advance(); }
    // Frees models that are being unloaded, once nothing uses them.
    void free_leaving() noexcept { models_.free_leaving(); }
    // Processes the result of a job for its model. Returns true if the
    // job resized the model: its streams were parked, and took no step.
    bool take(Job& job) noexcept;

    // Starts a job that closes streams, frees unloaded adapters that no request
    // uses, and loads the next adapter. Returns false if no model needs such a job.
    bool start_closing();
    // Loads and resizes models, admits requests, and frees memory. Returns true if anything was started.
    bool balance() { return memory_.balance(); }
    // Spills KV cache in advance, so that the next stream can be parked without a wait.
    void tidy() { spiller_.tidy(); }

    // Returns true if the model is on the shared device while that device is being detached.
    bool leaves_shared(const ModelEntry& entry) const noexcept { return evacuation_.leaves_shared(entry); }
    Admission& admission() noexcept { return admission_; }

private:
    const Registry& registry_;
    JobStarter& jobs_;
    StateSpiller spiller_;
    AdapterChanges adapters_;
    IdleModels idle_;
    ModelManager models_;
    DeviceEvacuation evacuation_;
    ModelResizer resizer_;
    Admission admission_;
    MemoryManager memory_;
};

} // namespace sotto
