// The devices of an engine, and the backends that run models on them.
#pragma once

#include <string>
#include <utility>

#include "core/model/device_manager.hpp"
#include "core/settings.hpp"
#include "module/modules.hpp"

namespace sotto {

struct Devices {
    Devices(const EngineOptions& options, const Log& log)
        : name(options.device), reason(options.device_reason), modules(options.module_dir, log),
          manager(modules, name, options.cuda_driver, log) {}

    const std::string name;   // of the engine's own device
    const std::string reason; // why "auto" chose that device; empty: not "auto"
    Modules modules;
    DeviceManager manager;
};

} // namespace sotto
