// Opens models on the device where they belong, and frees them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/model/device_manager.hpp"
#include "core/model/load_plan.hpp"
#include "core/model/registry.hpp"
#include "core/settings.hpp"

namespace sotto {

// One entry at a time for each call; calls for several entries may run at once.
class ModelOpener {
public:
    // `tell` takes notes of kind progress; it must not throw.
    using Tell = std::function<void(std::unique_ptr<LoaderNote>)>;

    ModelOpener(const Hooks& hooks, DeviceManager& card, Ledger& ledger, Tell tell);

    // Opens the model of an entry where it belongs; where that can't have it, in the next place. Of an entry
    // that is planning, finds out what the model would take. Writes to `note` what came of it. Throws if it
    // cannot be opened; the entry's claims are then the caller's to clear.
    void open(ModelEntry& entry, LoaderNote& note);
    // Frees the model of an entry, and its adapters.
    static void free(ModelEntry& entry) noexcept;

    // Gives up what is being opened from now on, also what comes. Any thread.
    void give_up() noexcept { stopping_ = true; }

private:
    // What an open hears back from.
    struct Watch {
        ModelOpener* opener;
        ModelEntry* entry;
        float told = -1;
    };

    static std::int32_t SOTTO_CALL on_progress(void* context, float progress);

    void open_at(ModelEntry& entry, const Placement& seat, LoaderNote& note);
    void reopen(Adapter& adapter, Model& model, const std::string& id) noexcept;
    // What there is room for. `room`: bytes.
    LoadPlan find_fit(
        const ModelEntry& entry, const Backend& backend, sotto_model_source source, std::uint64_t room
    ) const;
    void claim(ModelEntry& entry, const ModelInfo& info);
    sotto_model_source
    source_of(const ModelEntry& entry, const std::string& path, const Placement& seat, Watch& watch) const;
    bool gives_up(const ModelEntry& entry) const noexcept { return stopping_.load() || entry.give_up.load(); }

    const Hooks& hooks_;
    DeviceManager& card_;
    Ledger& ledger_;
    const Tell tell_;
    std::atomic<bool> stopping_{false};
};

} // namespace sotto
