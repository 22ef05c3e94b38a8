#include "gpu/driver_version.hpp"

#include <charconv>
#include <type_traits>

#include "platform/dynlib.hpp"

namespace sotto::gpu {

const char* nvml_name() noexcept {
#ifdef _WIN32
    return "nvml.dll";
#else
    return "libnvidia-ml.so.1";
#endif
}

DriverVersion driver_version() {
    DriverVersion found;
    void* library = open_library(nvml_name(), found.why);
    if (library == nullptr) {
        return found;
    }
    constexpr unsigned kRoom = 81; // characters, the limit of NVML
    char text[kRoom] = "";
    const auto init = reinterpret_cast<int (*)()>(find_symbol(library, "nvmlInit_v2"));
    const auto version =
        reinterpret_cast<int (*)(char*, unsigned)>(find_symbol(library, "nvmlSystemGetDriverVersion"));
    if (init == nullptr || version == nullptr || init() != 0 || version(text, kRoom - 1) != 0) {
        found.why = std::string(nvml_name()) + " does not report it";
        return found;
    }
    found.text = text;
    const auto end = found.text.data() + found.text.size();
    if (std::from_chars(found.text.data(), end, found.major).ec != std::errc()) {
        found.why = std::string(nvml_name()) + " reports '" + found.text + "'";
        found.text.clear();
    }
    return found;
}

} // namespace sotto::gpu
