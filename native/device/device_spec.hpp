// Device names as in sotto_engine_desc.device and sotto_model_source.device, and how a name selects a device
// from a list. Shared by the library and its modules.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

// A parsed device name: "auto", "cpu", "vulkan" (the best Vulkan device), "vulkan0", "vulkan:UUID"; the same
// forms with "cuda".
struct DeviceSpec {
    std::string kind;                 // "auto", "cpu", "vulkan", "cuda" ...
    std::optional<std::size_t> index; // among the devices of this kind
    std::string uuid;                 // hexadecimal digits; empty: not selected by UUID

    // Returns true if the name selects the best device of its kind.
    bool is_best() const noexcept { return !index && uuid.empty(); }
    // Returns true if models run on a GPU.
    bool is_card() const noexcept { return kind != "cpu" && kind != "auto"; }
};

// Returns the digits of a UUID in lower case, without hyphens.
inline std::string uuid_digits(std::string_view uuid) {
    std::string digits;
    for (const char c : uuid) {
        if (c != '-') {
            digits += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
    }
    return digits;
}

// Parses a device name. Returns nothing if the name is malformed: no kind, or a suffix that is neither an
// index nor a UUID. Accepts "vulkan:0" for "vulkan0".
inline std::optional<DeviceSpec> parse_device(std::string_view name) {
    constexpr std::string_view kDigits = "0123456789";
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
    constexpr std::size_t kMaxDigits = 3; // digits of an index; a longer number is a UUID
    const auto end = std::min(name.find_first_not_of(kLetters), name.size());
    DeviceSpec spec{std::string(name.substr(0, end)), std::nullopt, {}};
    auto which = name.substr(end);
    if (spec.kind.empty() || (!which.empty() && !spec.is_card())) {
        return std::nullopt;
    }
    if (which.empty()) {
        return spec;
    }
    const bool colon = which.front() == ':';
    which.remove_prefix(colon ? 1 : 0);
    const bool number = !which.empty() && which.find_first_not_of(kDigits) == std::string_view::npos;
    if (number && which.size() <= kMaxDigits) {
        spec.index = static_cast<std::size_t>(std::stoul(std::string(which)));
    } else if (colon && !which.empty()) {
        spec.uuid = uuid_digits(which);
    } else {
        return std::nullopt;
    }
    return spec;
}

// Selects a device from `devices`, which are all of one kind. Returns null if no device matches. Device has
// `type` ("discrete", "integrated", "virtual", "other" or "cpu") and `uuid`, and may have `unfit` (not empty:
// the device cannot be used). The best device is the first usable one in the order "discrete", "integrated",
// "virtual", "other", or the first of `devices` if no device of these types is usable.
template <typename Device>
const Device* find_device(const std::vector<Device>& devices, const DeviceSpec& spec) {
    if (spec.index) {
        return *spec.index < devices.size() ? &devices[*spec.index] : nullptr;
    }
    const auto find = [&](const auto& is_it) -> const Device* {
        const auto found = std::find_if(devices.begin(), devices.end(), is_it);
        return found == devices.end() ? nullptr : &*found;
    };
    if (!spec.uuid.empty()) {
        return find([&](const Device& device) { return uuid_digits(device.uuid) == spec.uuid; });
    }
    for (const std::string_view type : {"discrete", "integrated", "virtual", "other"}) {
        const auto* found = find([&](const Device& device) {
            if constexpr (requires { device.unfit; }) {
                return device.type == type && device.unfit.empty();
            } else {
                return device.type == type;
            }
        });
        if (found != nullptr) {
            return found;
        }
    }
    return devices.empty() ? nullptr : &devices.front();
}

} // namespace sotto
