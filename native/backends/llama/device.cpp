#include "device.hpp"

#include <algorithm>
#include <cctype>
#include <cstdio>

namespace sotto::llama {
namespace {

// Of a UUID: its digits, in lower case.
std::string digits(std::string_view text) {
    std::string digits;
    for (const char c : text) {
        if (c != '-') {
            digits += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
        }
    }
    return digits;
}

std::string listed(const std::vector<Device>& devices) {
    std::string text;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::string(kDeviceKind) + std::to_string(i) + " (" + devices[i].name +
                ", " + devices[i].uuid + ")";
    }
    return text;
}

const Device* best(const std::vector<Device>& devices) {
    for (const char* type : {"discrete", "integrated", "virtual", "other"}) {
        for (const auto& device : devices) {
            if (device.type == type && device.unfit.empty()) {
                return &device;
            }
        }
    }
    return devices.empty() ? nullptr : &devices.front();
}

// `which`: what follows the kind.
const Device* find(const std::vector<Device>& devices, std::string_view which) {
    constexpr std::size_t kNumber = 4; // ":" and digits, which are no UUID
    if (which.front() == ':' && which.size() <= kNumber) {
        which.remove_prefix(1);
    } else if (which.front() == ':') {
        const auto wanted = digits(which.substr(1));
        const auto found = std::find_if(devices.begin(), devices.end(), [&](const Device& device) {
            return digits(device.uuid) == wanted;
        });
        return found == devices.end() ? nullptr : &*found;
    }
    for (std::size_t i = 0; i < devices.size(); ++i) {
        if (which == std::to_string(i)) {
            return &devices[i];
        }
    }
    return nullptr;
}

const Device* fit(const Device* device) {
    if (device != nullptr && !device->unfit.empty()) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "no model can be on " + device->name + ": " + device->unfit);
    }
    return device;
}

} // namespace

const Device* choose_device(const std::vector<Device>& devices, std::string_view asked) {
    const std::string_view kind = kDeviceKind;
    if (asked == "cpu") {
        return nullptr;
    }
    if (asked.empty() || asked == "auto" || (asked == kind && !kind.empty())) {
        const auto* current = current_device(devices);
        return fit(current != nullptr ? current : best(devices));
    }
    const auto text = "device is \"" + std::string(asked) + "\", and ";
    if (kind.empty() || asked.substr(0, kind.size()) != kind) {
        const auto own = kind.empty() ? std::string("\"cpu\" alone") : "\"cpu\" and " + listed(devices);
        throw Error(SOTTO_ERROR_UNSUPPORTED, text + "this build of the llama backend computes on " + own);
    }
    const Device* device = find(devices, asked.substr(kind.size()));
    if (device == nullptr) {
        throw Error(SOTTO_ERROR_NOT_FOUND, text + "there are " + listed(devices));
    }
    return fit(device);
}

ggml_backend_dev_t ggml_device(const std::vector<Device>& devices, const Device& device) {
    for (std::size_t i = 0; i < ggml_backend_reg_count(); ++i) {
        auto* registry = ggml_backend_reg_get(i);
        const auto name = digits(ggml_backend_reg_name(registry));
        const auto index = static_cast<std::size_t>(&device - devices.data());
        if (name == kDeviceKind && index < ggml_backend_reg_dev_count(registry)) {
            return ggml_backend_reg_dev_get(registry, index);
        }
    }
    return nullptr;
}

std::string uuid_text(const std::uint8_t bytes[16]) {
    std::string text;
    for (std::size_t i = 0; i < 16; ++i) {
        char digits[3] = "";
        std::snprintf(digits, sizeof digits, "%02x", bytes[i]);
        text += (i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "") + std::string(digits);
    }
    return text;
}

bool is_on_device(ggml_backend_buffer_type_t type) {
    auto* device = ggml_backend_buft_get_device(type);
    return device != nullptr && ggml_backend_dev_type(device) != GGML_BACKEND_DEVICE_TYPE_CPU &&
           !ggml_backend_buft_is_host(type);
}

} // namespace sotto::llama
