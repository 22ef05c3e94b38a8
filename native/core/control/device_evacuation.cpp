#include "core/control/device_evacuation.hpp"

#include "base/attempt.hpp"

namespace sotto {

bool DeviceEvacuation::is_on_shared(const ModelEntry& entry) const noexcept {
    const auto device = entry.device.load();
    return device != 0 && device == devices_.shared();
}

bool DeviceEvacuation::leaves_shared(const ModelEntry& entry) const noexcept {
    return moves_.is_leaving() && is_on_shared(entry);
}

bool DeviceEvacuation::must_leave(const ModelEntry& entry) const noexcept {
    return devices_.is_lost(entry.device.load()) || leaves_shared(entry);
}

void DeviceEvacuation::report_loss(Job& job) noexcept {
    auto& failure = job.failure;
    if (failure.status != SOTTO_ERROR_DEVICE) {
        return;
    }
    const auto lose = [&] {
        auto& entry = *job.entry;
        if (entry.device.load() == 0) {
            entry.device = devices_.own(); // DeviceManager::seat() took the backend for a CPU backend
        }
        devices_.lose(entry.device.load(), failure.why);
        failure.why = "the device was lost: submit the request again (" + failure.why + ")";
    };
    attempt(lose, [](sotto_status, const char*) {}); // the next step on the device reports the loss again
}

// Fails all requests of a model, and evicts the model once it is idle.
// Returns true if any request failed or the eviction was started.
bool DeviceEvacuation::evacuate(ModelEntry& entry, sotto_status status, const char* why) noexcept {
    const bool lost = status == SOTTO_ERROR_DEVICE; // the KV cache may be corrupt
    const bool begun = ender_.fail_all(entry, status, why);
    for (auto& one : entry.slots.closing) {
        if (lost) {
            one.session.reset();
        }
    }
    if (!idle_.is_idle(entry)) {
        return begun;
    }
    models_.evict(entry, !lost);
    return true;
}

bool DeviceEvacuation::leave_lost() noexcept {
    constexpr const char* kWhy = "the device was lost: submit the request again";
    bool begun = false;
    for (const auto& entry : registry_.entries()) {
        if (!entry->loader.owns && devices_.is_lost(entry->device.load())) {
            begun = evacuate(*entry, SOTTO_ERROR_DEVICE, kWhy) || begun;
        }
    }
    return begun;
}

bool DeviceEvacuation::leave_shared() noexcept {
    constexpr const char* kWhy = "the device was detached: submit the request again";
    if (!moves_.is_leaving()) {
        return false;
    }
    bool begun = false;
    bool left = true;
    for (const auto& entry : registry_.entries()) {
        if (!is_on_shared(*entry)) {
            continue; // DeviceManager::seat() places no more models on the shared device
        }
        left = false;
        if (!entry->loader.owns) {
            begun = evacuate(*entry, SOTTO_ERROR_CANCELLED, kWhy) || begun;
        }
    }
    if (left) {
        moves_.has_left();
    }
    return begun;
}

// Evicts idle models that can use the newly attached shared device, so that their
// next load places them on it. Returns true if any eviction was started.
bool DeviceEvacuation::come() noexcept {
    if (!moves_.take_come()) {
        return false;
    }
    bool begun = false;
    bool later = false;
    for (const auto& entry : registry_.entries()) {
        if (entry->loader.owns) {
            later = true; // the load may have started before the device was attached
            continue;
        }
        if (entry->model == nullptr || is_on_shared(*entry)) {
            continue;
        }
        bool could = false;
        const auto ask = [&] {
            could = devices_.would_take(entry->submission.backend, entry->loader.refused_device);
        };
        attempt(ask, [&](sotto_status, const char*) { later = true; });
        const bool free = idle_.is_idle(*entry) && entry->requests.held.empty(); // held requests go first
        later = later || (could && (!free || !entry->slots.pinned.empty()));
        if (could && free) {
            models_.evict(*entry, true);
            begun = true;
        }
    }
    if (later) {
        moves_.come_later();
    }
    return begun;
}

} // namespace sotto
