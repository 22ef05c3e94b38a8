// Moves models off a device that is detached or was lost, and onto a shared device when one is attached.
#pragma once

#include "core/control/device_moves.hpp"
#include "core/control/idle_models.hpp"
#include "core/control/model_manager.hpp"
#include "core/control/request_ender.hpp"
#include "core/model/device_manager.hpp"
#include "core/model/registry.hpp"

namespace sotto {

// Evicts models from their current device; each is loaded onto the right device when next
// requested. Sessions keep their KV cache, unless the device was lost. Control thread only.
class DeviceEvacuation {
public:
    DeviceEvacuation(
        const Registry& registry,
        DeviceManager& devices,
        DeviceMoves& moves,
        const IdleModels& idle,
        RequestEnder& ender,
        ModelManager& models
    )
        : registry_(registry), devices_(devices), moves_(moves), idle_(idle), ender_(ender), models_(models) {
    }

    // Starts the evictions that the devices require. Returns true if any was started.
    bool advance() noexcept { return leave_lost() || leave_shared() || come(); }
    // If a job failed because its device was lost, reports that
    // to the DeviceManager, and adds a remedy to the job's error.
    void report_loss(Job& job) noexcept;
    // Returns true if a ready model must leave its device, which was lost or is being detached.
    bool must_leave(const ModelEntry& entry) const noexcept;
    // Returns true if the model is on the shared device while that device is being detached.
    bool leaves_shared(const ModelEntry& entry) const noexcept;

private:
    bool is_on_shared(const ModelEntry& entry) const noexcept;
    bool leave_lost() noexcept;
    bool leave_shared() noexcept;
    bool come() noexcept;
    bool evacuate(ModelEntry& entry, sotto_status status, const char* why) noexcept;

    const Registry& registry_;
    DeviceManager& devices_;
    DeviceMoves& moves_;
    const IdleModels& idle_;
    RequestEnder& ender_;
    ModelManager& models_;
};

} // namespace sotto
