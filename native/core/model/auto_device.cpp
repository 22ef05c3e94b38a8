#include "core/model/auto_device.hpp"

#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "device/device_spec.hpp"
#include "module/modules.hpp"
#include "text/ordered_json.hpp"

namespace sotto {
namespace {

// A device from a backend's description.
struct Listed {
    std::string key; // "vulkan0"
    std::string name;
    std::string type;
    std::string uuid;
    std::string unfit;
};

// Returns the string at `field`; empty if it is missing or not a string.
std::string text_at(const Ordered& object, const char* field) {
    const auto found = object.is_object() ? object.find(field) : object.end();
    return object.is_object() && found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

std::vector<Listed> devices_of(const Backend& backend) {
    std::vector<Listed> devices;
    const auto told = try_parse_ordered(backend.description());
    const auto found = told.is_object() ? told.find("devices") : told.end();
    if (!told.is_object() || found == told.end() || !found->is_object()) {
        return devices;
    }
    for (const auto& [key, one] : found->items()) {
        devices.push_back(
            {key, text_at(one, "name"), text_at(one, "type"), text_at(one, "uuid"), text_at(one, "unfit")}
        );
    }
    return devices;
}

// Returns true if a device is a usable GPU with memory and cores of its own, so that models on the device
// take neither from the game's CPU work.
bool is_card(const Listed& device) {
    return (device.type == "discrete" || device.type == "virtual") && device.unfit.empty();
}

} // namespace

EngineOptions with_device(EngineOptions options) {
    if (options.device != "auto") {
        return options;
    }
    options.device = "cpu";
    Modules modules(options.module_dir, options.hooks.log);
    for (const std::string_view kind : {"cuda", "vulkan"}) {
        auto& reason = options.device_reason;
        reason += (reason.empty() ? "not " : "; not ") + std::string(kind) + ": ";
        try {
            const Backend& backend = modules.find("", kind);
            const auto devices = devices_of(backend);
            const Listed* best = find_device(devices, {std::string(kind), std::nullopt, {}});
            if (best != nullptr && is_card(*best)) {
                options.device = best->key;
                reason = best->name + " is the best card that " + backend.name() + " can use";
                break;
            }
            reason += best == nullptr        ? "the backend found no device"
                      : !best->unfit.empty() ? best->name + ": " + best->unfit
                                             : best->name + " is not a discrete device (" + best->type + ")";
        } catch (const Error& error) {
            if (error.status() == SOTTO_ERROR_MEMORY) {
                throw;
            }
            reason += error.what();
        }
    }
    options.hooks.log.info("device: auto is " + options.device + ": " + options.device_reason);
    return options;
}

} // namespace sotto
