// Loads, unloads and evicts models.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/control/active_streams.hpp"
#include "core/control/adapter_changes.hpp"
#include "core/control/event_sender.hpp"
#include "core/control/idle_models.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/world.hpp"
#include "core/model/model_loader.hpp"
#include "core/model/registry.hpp"

namespace sotto {

// Manages models from the load request until their memory is
// freed. Control thread only, except give_up_loading().
class ModelManager {
public:
    // `loaded`: notified when the loader has finished.
    ModelManager(
        const World& world,
        ActiveStreams& streams,
        EventSender& sender,
        RequestEnder& ender,
        AdapterChanges& adapters,
        const IdleModels& idle,
        Signal& loaded
    )
        : registry_(world.registry), ledger_(world.ledger), clock_(world.clock), recorder_(world.recorder),
          sender_(sender), ender_(ender), pins_(streams.pins()), adapters_(adapters),
          preparer_(streams.preparer()), idle_(idle),
          loader_(world.hooks, world.settings, world.devices, world.ledger, loaded) {}

    // Start a request. If a function throws, no reference to the slot is kept.
    void load(Slot& slot);
    void unload(Slot& slot);
    void plan(Slot& slot);
    // Ends a cancelled request that waits for a model. Returns false if the request waits for no model.
    bool cancel(Slot& slot) noexcept;

    // Processes the results of the loader. Returns true if there were any.
    bool take_loader_notes();
    // Frees models that are being unloaded, once nothing uses them.
    void free_leaving() noexcept;
    // Passes a model to the loader's thread, which loads or frees it.
    void hand_to_loader(ModelEntry& entry) noexcept;
    // Fails all requests that wait for a model, as the model cannot be loaded or resized. Removes
    // a model that was never loaded; a model that was being reloaded becomes evicted.
    void refuse(ModelEntry& entry, sotto_status status, std::string_view why) noexcept;
    // Evicts an idle model, which is loaded again when next requested. If pinned sessions
    // keep slots of the model, only releases these slots: a later call evicts the model.
    // `remembers`: the sessions keep their KV cache, outside the model.
    void evict(ModelEntry& entry, bool remembers) noexcept;

    // Unloads all models.
    void leave_all(std::string_view why) noexcept;
    // Cancels the loads of models, as the engine is about to be destroyed. Any thread.
    void give_up_loading() noexcept { loader_.give_up(); }

private:
    void begin_loading(Slot& slot, ModelEntry::State state, ModelEntry* given_up);
    bool cancel(ModelEntry& entry, Slot& slot) noexcept;
    void leave(ModelEntry& entry, std::string_view why) noexcept;
    void tell_progress(ModelEntry& entry, float progress);
    void came_back(ModelEntry& entry, LoaderNote::Kind kind, const Failure& failure) noexcept;
    void loaded(ModelEntry& entry) noexcept;
    void planned(ModelEntry& entry) noexcept;
    void gone(ModelEntry& entry, sotto_status status, std::string_view why) noexcept;

    Registry& registry_;
    const Ledger& ledger_;
    const Clock& clock_;
    Recorder& recorder_;
    EventSender& sender_;
    RequestEnder& ender_;
    SlotPins& pins_;
    AdapterChanges& adapters_;
    StreamPreparer& preparer_;
    const IdleModels& idle_;
    ModelLoader loader_;
    std::uint64_t numbers_ = 0; // of the model that was loaded last
};

} // namespace sotto
