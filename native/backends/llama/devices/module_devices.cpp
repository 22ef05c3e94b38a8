#include "devices/module_devices.hpp"

#include "runtime/forked.hpp"

namespace sotto::llama {
namespace {

Json describe(const Device& device) {
    Json told = {
        {"name", device.name}, {"type", device.type}, {"uuid", device.uuid}, {"memory", device.memory}
    };
    if (!device.unfit.empty()) {
        told["unfit"] = device.unfit;
    }
    return told;
}

} // namespace

const std::vector<Device>& known_devices() {
    static const auto& found = *new std::vector<Device>(find_devices());
    return found;
}

void refuse_after_fork() {
    if (*kDeviceKind != '\0' && was_forked()) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "the parent process uses the device, whose driver does not support fork(); "
            "fork before you create the first engine, or use device \"cpu\""
        );
    }
}

std::string backend_name(std::string_view base) {
    return std::string(base) + (*kDeviceKind == '\0' ? "" : "_") + kDeviceKind;
}

Json describe(const std::vector<Device>& devices) {
    Json described;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        described[kDeviceKind + std::to_string(i)] = describe(devices[i]);
    }
    return described;
}

} // namespace sotto::llama
