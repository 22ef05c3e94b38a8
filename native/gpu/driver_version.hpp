// Version of the installed NVIDIA driver, which the CUDA driver itself does not report.
#pragma once

#include <string>

namespace sotto::gpu {

// File name of NVIDIA's management library (NVML), as the driver installs it.
const char* nvml_name() noexcept;

struct DriverVersion {
    std::string text;   // as "580.88"; empty: unknown
    unsigned major = 0; // number before the first point
    std::string why;    // reason why the version is unknown; empty: it is known
};

// Returns the version that NVML reports. Opens the library, which can take noticeable time.
DriverVersion driver_version();

} // namespace sotto::gpu
