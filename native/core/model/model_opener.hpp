// Opens and frees models; chooses their device.
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

// Calls for different entries may run concurrently; calls for the same entry may not.
class ModelOpener {
public:
    // Receives notes of kind progress. Must not throw.
    using Tell = std::function<void(std::unique_ptr<LoaderNote>)>;

    ModelOpener(const Hooks& hooks, DeviceManager& devices, Ledger& ledger, Tell tell);

    // Opens the model of an entry on the preferred device, or on the next one if that device cannot hold the
    // model. For an entry in state planning, only measures the memory the model would need. Writes the
    // outcome to `note`. Throws if the model cannot be opened; the caller must then clear the entry's claims.
    void open(ModelEntry& entry, LoaderNote& note);
    // Frees the model of an entry and its adapters.
    static void free(ModelEntry& entry) noexcept;

    // Cancels the current open() and all later ones. Any thread.
    void give_up() noexcept { stopping_ = true; }

private:
    // Context of the progress callback.
    struct Watch {
        ModelOpener* opener;
        ModelEntry* entry;
        float told = -1;
    };

    static std::int32_t SOTTO_CALL on_progress(void* context, float progress);

    void open_at(ModelEntry& entry, const Placement& seat, LoaderNote& note);
    void reopen(Adapter& adapter, Model& model, const std::string& id) noexcept;
    // Returns the load plan whose last rung is the largest shape that fits into `room` bytes, if any fits.
    LoadPlan find_fit(
        const ModelEntry& entry, const Backend& backend, sotto_model_source source, std::uint64_t room
    ) const;
    void claim(ModelEntry& entry, const ModelInfo& info);
    sotto_model_source
    source_of(const ModelEntry& entry, const std::string& path, const Placement& seat, Watch& watch) const;
    bool gives_up(const ModelEntry& entry) const noexcept {
        return stopping_.load() || entry.loader.cancelled.load();
    }

    const Hooks& hooks_;
    DeviceManager& devices_;
    Ledger& ledger_;
    const Tell tell_;
    std::atomic<bool> stopping_{false};
};

} // namespace sotto
