// The devices that an engine's models can run on: the engine's own device,
// and a GPU shared with a renderer.
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

// The backend and the device that a model is opened on.
struct Placement {
    const Backend* backend = nullptr;
    std::string device;                              // in the backend's syntax
    std::shared_ptr<const gpu::CudaContext> context; // current while the backend runs; null if none
    DeviceNumber number = 0;
    bool shared = false; // true if this is the shared GPU
};

class DeviceManager {
public:
    // `device`: the engine's own device. `driver`: file of the CUDA driver; empty: the system's.
    DeviceManager(Modules& modules, std::string device, std::filesystem::path driver, const Log& log);

    // Shares the renderer's device by the most direct rung (way of sharing) that works. Loads the modules.
    // Throws Error(SOTTO_ERROR_STATE) if a device is shared already, Error(SOTTO_ERROR_ARGUMENT) if the
    // renderer's objects are inconsistent, and Error(SOTTO_ERROR_UNSUPPORTED) if the least sharing that the
    // host accepts is impossible. attach(), begin_to_leave() and leave() must not run concurrently.
    sotto_gpu_sharing attach(const gpu::Renderer& renderer);
    // Stops placing models on the shared GPU. Returns false if no GPU is shared.
    bool begin_to_leave();
    // Ends sharing. No model may be on the shared GPU any more.
    void leave();

    // The functions below may be called from any thread.

    // Chooses where to open a model. Order: the shared GPU, unless its number is `refused`; the
    // engine's own device; the CPU once a device was lost. `backend`: name of the requested
    // backend; empty: any. Writes the device's number to `number`; a shared GPU's number is written
    // only before begin_to_leave() returns. Throws Error(SOTTO_ERROR_UNSUPPORTED).
    Placement seat(std::string_view backend, DeviceNumber refused, std::atomic<DeviceNumber>& number);
    // Returns a backend to quantize files with. Throws Error(SOTTO_ERROR_UNSUPPORTED) if there is no backend.
    const Backend& quantizer() { return modules_.find_quantizer(); }
    // Returns true if seat() would choose the shared GPU. `refused`: number of the
    // device that cannot hold the model.
    bool would_take(std::string_view backend, DeviceNumber refused) const;
    // Records that a model could not be opened on the shared GPU, and why. Logs the reason and adds it to
    // describe().
    void refused(DeviceNumber number, const std::string& model, const std::string& why);
    // Records that a device was lost. Models are opened on the CPU from now on, until another GPU
    // is attached. `number` 0: the engine's own device.
    void lose(DeviceNumber number, std::string why);
    // Number of the shared GPU until leave() is called; 0 if none.
    DeviceNumber shared() const noexcept { return numbers_.shared(); }
    // Number of the engine's own device; 0 if it was lost.
    DeviceNumber own() const noexcept { return numbers_.own(); }
    bool is_lost(DeviceNumber number) const noexcept { return numbers_.is_lost(number); }
    // Returns why a device was lost; empty if none was.
    std::string lost() const;
    // The "gpu" object of sotto_engine_describe().
    nlohmann::ordered_json describe() const;

private:
    std::optional<Placement>
    shared_seat(std::string_view backend, DeviceNumber refused) const; // requires mutex_

    Modules& modules_;
    const std::string device_;
    const std::filesystem::path driver_;
    const Log& log_;
    mutable std::mutex mutex_; // guards the members below
    std::shared_ptr<const gpu::Sharing> sharing_;
    nlohmann::ordered_json shown_; // a copy, so that describe() does not keep sharing_ alive
    bool leaving_ = false;
    std::string lost_;
    DeviceNumbers numbers_; // written with mutex_ held
};

// A GPU as sotto_gpu_query() describes it.
struct CardInfo {
    gpu::Adapter adapter;
    std::string driver;
    std::string why; // why the query failed; empty: success
};
CardInfo query_card(std::uint32_t index);

// The device extension and `pNext` structure that a Vulkan renderer must create its device with,
// with static lifetime; or why the device cannot be shared.
struct VulkanNeeds {
    const char* const* extension = nullptr;
    const void* next = nullptr;
    std::string why; // empty: the device can be shared
};
// Returns the extension and the structure that a Vulkan renderer must create its device with. Throws
// Error(SOTTO_ERROR_ARGUMENT) for handles that do not belong together, and Error(SOTTO_ERROR_UNSUPPORTED)
// without Vulkan.
VulkanNeeds query_vulkan(const sotto_gpu_vulkan& vulkan);

} // namespace sotto
