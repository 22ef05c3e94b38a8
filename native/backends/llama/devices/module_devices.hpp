// The devices of a module, as its entry function finds and describes them.
#pragma once

#include "devices/device.hpp"
#include "runtime/json_parts.hpp"

namespace sotto::llama {

// Returns the devices, which are found only once, as ggml does, because ggml identifies devices by their
// index. Throws Error.
const std::vector<Device>& known_devices();

// Throws Error(SOTTO_ERROR_UNSUPPORTED) in a child process of one that uses the devices.
void refuse_after_fork();

// Returns the name of the module's backend: `base`, and the kind of its devices.
std::string backend_name(std::string_view base);

// Returns the devices for a backend's description: an object by name, such as "vulkan0"; null: there are
// none.
Json describe(const std::vector<Device>& devices);

} // namespace sotto::llama
