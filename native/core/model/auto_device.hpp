// What the device "auto" stands for on this machine.
#pragma once

#include "core/settings.hpp"

namespace sotto {

// Replaces the device "auto" by the best graphics card that a module can use, else by "cpu", and says why in
// `device_reason`. A card that only passes for one, or has no memory of its own, is none. Opens the modules
// for devices, which takes a while where there are some. Throws Error(SOTTO_ERROR_MEMORY).
EngineOptions with_device(EngineOptions options);

} // namespace sotto
