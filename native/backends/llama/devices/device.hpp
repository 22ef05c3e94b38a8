// Devices on which a module computes, apart from the CPU.
#pragma once

#include "devices/lost.hpp"
#include "runtime/fence.hpp"

#include <cstdint>
#include <ggml-backend.h>
#include <vector>

namespace sotto::llama {

// A GPU, or another device that the driver lists as one.
struct Device {
    std::string name;         // for display
    std::string type;         // "discrete", "integrated", "virtual", "cpu" or "other"
    std::string uuid;         // as in "00112233-4455-6677-8899-aabbccddeeff"
    std::uint64_t memory = 0; // bytes of dedicated memory
    std::string unfit;        // reason why the device cannot run models; empty: it can
};

// Kind of the module's devices: "vulkan" or "cuda"; empty: CPU only. Each module defines kDeviceKind once.
extern const char* const kDeviceKind;
// Hardware that the module's backend uses.
extern const sotto_backend_uses kDeviceUses;
// Lists all devices in index order. Call before the first call of llama.cpp. Throws
// Error(SOTTO_ERROR_UNSUPPORTED) with the reason if a GPU module finds no device.
std::vector<Device> find_devices();

// Returns the device of the context that the host has made current on the calling thread. Null: no such
// context.
const Device* current_device(const std::vector<Device>& devices);

// Returns the loss state of a device, for a model that is about to use it.
Loss loss_of(const Device& device);

// Runs `body`, and restores the calling thread's current context afterwards.
void keep_current(void (*body)());

// Selects the device that `asked` names: "" or "auto" (the current device if there is one, otherwise the best
// one, see find_device()), "cpu", "vulkan", "vulkan0" or "vulkan:" and a UUID. Null: the CPU. Throws Error.
const Device* choose_device(const std::vector<Device>& devices, std::string_view asked);

// Returns ggml's handle of a device. Null if ggml does not list it or cannot use it.
ggml_backend_dev_t ggml_device(const std::vector<Device>& devices, const Device& device);

// Formats a UUID in lower case, with hyphens.
std::string uuid_text(const std::uint8_t bytes[16]);

// Returns true if buffers of this type are in a device's memory, not in host memory.
bool is_on_device(ggml_backend_buffer_type_t type);

} // namespace sotto::llama
