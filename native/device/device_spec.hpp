// Names of devices, as sotto_engine_desc.device and sotto_model_source.device have them, and which device of
// a list a name means. The library and its modules share this file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sotto {

// "auto", "cpu", "vulkan" (the best), "vulkan0", "vulkan:UUID"; the same with "cuda".
struct DeviceSpec {
    std::string kind;                 // "auto", "cpu", "vulkan", "cuda" ...
    std::optional<std::size_t> index; // of that kind
    std::string uuid;                 // its digits; empty: not named by UUID

    // The best of its kind is meant.
    bool is_best() const noexcept { return !index && uuid.empty(); }
    // Models run on a device beside the processor.
    bool is_card() const noexcept { return kind != "cpu" && kind != "auto"; }
};

// The digits of a UUID, in lower case and without hyphens.
inline std::string uuid_digits(std::string_view uuid) {
    std::string digits;
    for (const char c : uuid) {
        if (c != '-') {
            digits += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
    }
    return digits;
}

// Nothing if the name is malformed: no kind, or something behind it that is no index and no UUID. "vulkan:0"
// is accepted as "vulkan0".
inline std::optional<DeviceSpec> parse_device(std::string_view name) {
    constexpr std::string_view kDigits = "0123456789";
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz";
    constexpr std::size_t kMaxDigits = 3; // of an index; more are a UUID
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

// The device of `devices`, all of one kind, that is meant; null: there is none. Device has `type`
// ("discrete", "integrated", "virtual", "other" or "cpu"), `uuid`, and may have `unfit` (not empty: it cannot
// be used). The best is the first fit one, in this order of types; without a fit one, the first.
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
