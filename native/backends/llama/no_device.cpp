// Of the module for the processor alone.
#include "device.hpp"

namespace sotto::llama {

const char* const kDeviceKind = "";

std::vector<Device> find_devices() {
    return {};
}

} // namespace sotto::llama
