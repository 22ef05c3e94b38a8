// Loads, unloads and evicts models.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/control/adapter_changes.hpp"
#include "core/control/idle_models.hpp"
#include "core/control/request_ender.hpp"
#include "core/control/slot_pins.hpp"
#include "core/control/stream_preparer.hpp"
#include "core/control/teller.hpp"
#include "core/memory/ledger.hpp"
#include "core/model/model_loader.hpp"
#include "core/model/registry.hpp"
#include "core/telemetry/recorder.hpp"
#include "platform/clock.hpp"

namespace sotto {

// From the request to load a model to its last byte given back. Control thread only, except
// give_up_loading().
class ModelManager {
public:
    struct Parts {
        Registry& registry;
        const Ledger& ledger;
        const Clock& clock;
        Recorder& recorder;
        Teller& teller;
        RequestEnder& ender;
        SlotPins& pins;
        AdapterChanges& adapters;
        StreamPreparer& preparer;
        const IdleModels& idle;
        const StepRunner& runner;
    };
    ModelManager(
        const Parts& parts,
        const Hooks& hooks,
        const Settings& settings,
        DeviceManager& card,
        Ledger& ledger,
        Signal& loaded
    )
        : parts_(parts), loader_(hooks, settings, card, ledger, loaded) {}

    // Does what a request asks for. Throws before anything is kept of its slot, or not at all.
    void load(Slot& slot);
    void unload(Slot& slot);
    void plan(Slot& slot);
    // Takes a cancelled request that waits for a model. Returns false if the request waits for none.
    bool cancel(Slot& slot) noexcept;

    // Takes what the loader has done. Returns true if it did anything.
    bool take_loader_notes() noexcept;
    // Frees models that are leaving, once nothing is under way on them.
    void free_leaving() noexcept;
    // Loads, or frees, a model on the loader's thread.
    void hand_to_loader(ModelEntry& entry) noexcept;
    // Ends a request for a model that cannot be loaded. A model that was ready before stays evicted.
    void refuse(ModelEntry& entry, sotto_status status, std::string_view why) noexcept;
    // Evicts an idle model, once the slots are given up that sessions keep; it comes back when it is asked
    // for. `remembers`: sessions keep their KV cache.
    void evict(ModelEntry& entry, bool remembers) noexcept;

    // Unloads all models.
    void leave_all(std::string_view why) noexcept;
    // Gives up what is being loaded, as the engine is about to be destroyed. Any thread.
    void give_up_loading() noexcept { loader_.give_up(); }

private:
    void begin_loading(Slot& slot, ModelEntry::State state, ModelEntry* given_up);
    bool cancel(ModelEntry& entry, Slot& slot) noexcept;
    void leave(ModelEntry& entry, std::string_view why) noexcept;
    void tell_progress(ModelEntry& entry, float progress) noexcept;
    void came_back(ModelEntry& entry, LoaderNote::Kind kind, const Failure& failure) noexcept;
    void loaded(ModelEntry& entry) noexcept;
    void planned(ModelEntry& entry) noexcept;
    void gone(ModelEntry& entry, sotto_status status, std::string_view why) noexcept;

    const Parts parts_;
    ModelLoader loader_;
    std::uint64_t numbers_ = 0; // given to models that are ready
};

} // namespace sotto
