#include "devices/device.hpp"

#include "device/device_spec.hpp"

#include <cstdio>

namespace sotto::llama {
namespace {

std::string listed(const std::vector<Device>& devices) {
    std::string text;
    for (std::size_t i = 0; i < devices.size(); ++i) {
        text += (i == 0 ? "" : ", ") + std::string(kDeviceKind) + std::to_string(i) + " (" + devices[i].name +
                ", " + devices[i].uuid + ")";
    }
    return text;
}

const Device* fit(const Device* device) {
    if (device != nullptr && !device->unfit.empty()) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "device '" + device->name + "' is not supported: " + device->unfit + "; use another device"
        );
    }
    return device;
}

} // namespace

const Device* choose_device(const std::vector<Device>& devices, std::string_view requested) {
    const std::string_view kind = kDeviceKind;
    const auto spec = parse_device(requested.empty() ? "auto" : requested);
    if (spec && spec->kind == "cpu") {
        return nullptr;
    }
    if (spec && spec->is_best() && (spec->kind == "auto" || spec->kind == kind)) {
        const auto* current = current_device(devices);
        return fit(current != nullptr ? current : find_device(devices, *spec));
    }
    if (!spec || spec->kind != kind) {
        const auto own = "\"cpu\"" + (kind.empty() ? "" : " or " + listed(devices));
        throw Error(SOTTO_ERROR_UNSUPPORTED, invalid("device", requested, own + " in this build"));
    }
    const Device* device = find_device(devices, *spec);
    if (device == nullptr) {
        throw Error(SOTTO_ERROR_NOT_FOUND, invalid("device", requested, "one of " + listed(devices)));
    }
    return fit(device);
}

ggml_backend_dev_t ggml_device(const std::vector<Device>& devices, const Device& device) {
    for (std::size_t i = 0; i < ggml_backend_reg_count(); ++i) {
        auto* registry = ggml_backend_reg_get(i);
        const auto name = uuid_digits(ggml_backend_reg_name(registry)); // name in lower case
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
