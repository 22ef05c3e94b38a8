// Resolves the device "auto" on this machine.
#pragma once

#include "core/settings.hpp"

namespace sotto {

// Replaces the device "auto" by the best GPU that a module can use, or else by "cpu", and sets
// `device_reason` to the reason. Skips emulated GPUs and GPUs without their own memory. Loads the
// device modules, which is slow if there are any. Throws Error(SOTTO_ERROR_MEMORY).
EngineOptions with_device(EngineOptions options);

} // namespace sotto
