// What a module computes on beside the processor.
#pragma once

#include "devices/lost.hpp"
#include "runtime/fence.hpp"

#include <cstdint>
#include <ggml-backend.h>
#include <vector>

namespace sotto::llama {

// A graphics card, or what passes for one.
struct Device {
    std::string name;         // for people
    std::string type;         // "discrete", "integrated", "virtual", "cpu" or "other"
    std::string uuid;         // as in "00112233-4455-6677-8899-aabbccddeeff"
    std::uint64_t memory = 0; // bytes of its own
    std::string unfit;        // why models cannot be on it; empty: they can
};

// Of which kind a module's devices are: "vulkan" or "cuda"; empty: it has none. One of these is in each
// module.
extern const char* const kDeviceKind;
// What the module's backend computes with.
extern const sotto_backend_uses kDeviceUses;
// All that there are, in the order of their numbers. Before llama.cpp is called for the first time. Throws
// Error(SOTTO_ERROR_UNSUPPORTED) with the reason where a module that is made for devices finds none.
std::vector<Device> find_devices();

// The one on which the calling thread computes already, in a context that the host made. Null: on none.
const Device* current_device(const std::vector<Device>& devices);

// What is known of whether one was lost, to a model that is about to be put on it.
Loss loss_of(const Device& device);

// Runs `body`, after which the calling thread computes where it did before.
void keep_current(void (*body)());

// Which of them `asked` means: "" or "auto" (the current one, or a graphics card before what only passes for
// one), "cpu", "vulkan", "vulkan0" or "vulkan:" and a UUID. Null: the processor. Throws Error.
const Device* choose_device(const std::vector<Device>& devices, std::string_view asked);

// ggml's. Null where it does not know of it, or cannot use it.
ggml_backend_dev_t ggml_device(const std::vector<Device>& devices, const Device& device);

// In lower case, with hyphens.
std::string uuid_text(const std::uint8_t bytes[16]);

// Whether what is of this type lies on a device, and not in the machine's memory.
bool is_on_device(ggml_backend_buffer_type_t type);

} // namespace sotto::llama
