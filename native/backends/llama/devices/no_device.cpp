// Device functions of the CPU-only module, which has no devices.
#include "devices/device.hpp"

namespace sotto::llama {

const char* const kDeviceKind = "";
const sotto_backend_uses kDeviceUses = 0;

std::vector<Device> find_devices() {
    return {};
}

const Device* current_device(const std::vector<Device>&) {
    return nullptr;
}

void keep_current(void (*body)()) {
    body();
}

Loss loss_of(const Device&) {
    return {};
}

} // namespace sotto::llama
