// The devices that an engine's models may be on: its own, and the card that it shares with a renderer.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "core/model/device_numbers.hpp"
#include "gpu/sharing.hpp"
#include "module/modules.hpp"
#include "text/json_reader.hpp"

namespace sotto {

// Where a model is opened, and by whom.
struct Placement {
    const Backend* backend = nullptr;
    std::string device;                              // as the backend is told
    std::shared_ptr<const gpu::CudaContext> context; // that is current for it; null: none
    DeviceNumber number = 0;
    bool shared = false; // whether that is the card
};

class DeviceManager {
public:
    // `device`: the engine's own. `driver`: the CUDA driver's file; empty: the system's.
    DeviceManager(Modules& modules, std::string device, std::filesystem::path driver, const Log& log);

    // Takes the closest rung that can be had. Opens the modules. Throws as gpu::Sharing does, and
    // Error(SOTTO_ERROR_STATE) where there is a card. One thread at a time, as for the next two.
    sotto_gpu_sharing attach(const gpu::Renderer& renderer);
    // No model comes to the card any more. False: there is none.
    bool begin_to_leave();
    // No model is on the card any more.
    void leave();

    // What follows: any thread.

    // Where a model is opened that was asked for with a backend's name, or none: on the card, else on the
    // engine's own device, and on the processor once a device was lost. `number` has the number of that from
    // before the moment that begin_to_leave() returns, or not at all. Throws Error(SOTTO_ERROR_UNSUPPORTED).
    Placement seat(std::string_view backend, DeviceNumber refused, std::atomic<DeviceNumber>& number);
    // Whether that would be the card. `refused`: which can't have it.
    bool would_take(std::string_view backend, DeviceNumber refused) const;
    // That a model could not be opened on the card, and why. It is shown.
    void refused(DeviceNumber number, const std::string& model, const std::string& why);
    // A device that models were on was lost: from now on, until another card comes, they are opened on the
    // processor. 0: the engine's own.
    void lose(DeviceNumber number, std::string why);
    // The card's, until it has left; 0: there is none.
    DeviceNumber shared() const noexcept { return numbers_.shared(); }
    // The engine's own device's, unless that was lost.
    DeviceNumber own() const noexcept { return numbers_.own(); }
    bool is_lost(DeviceNumber number) const noexcept { return numbers_.is_lost(number); }
    // Why one was lost; empty: none was.
    std::string lost() const;
    // As in sotto_engine_describe().
    nlohmann::ordered_json describe() const;

private:
    std::optional<Placement>
    shared_seat(std::string_view backend, DeviceNumber refused) const; // with mutex_ held

    Modules& modules_;
    const std::string device_;
    const std::filesystem::path driver_;
    const Log& log_;
    mutable std::mutex mutex_; // guards what follows
    std::shared_ptr<const gpu::Sharing> sharing_;
    nlohmann::ordered_json shown_; // so that nobody keeps `sharing_` for longer than it may live
    bool leaving_ = false;
    std::string lost_;
    DeviceNumbers numbers_; // changed with mutex_ held
};

// A card, as sotto_gpu_query() describes it.
struct CardInfo {
    gpu::Adapter adapter;
    std::string driver;
    std::string why; // there is none of that index; empty: there is
};
CardInfo query_card(std::uint32_t index);

// What the device of a renderer on Vulkan must be made with, all of it for ever; or why it can't be shared.
struct VulkanNeeds {
    const char* const* extension = nullptr;
    const void* next = nullptr;
    std::string why; // empty: it can
};
// Throws as gpu::VulkanCard does.
VulkanNeeds query_vulkan(const sotto_gpu_vulkan& vulkan);

} // namespace sotto
