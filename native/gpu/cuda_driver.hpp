// The CUDA driver, loaded at run time, and its GPUs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gpu/cuda_api.hpp"
#include "gpu/driver_version.hpp"

namespace sotto::gpu {

// A GPU as the driver describes it.
struct Adapter {
    cuda::Device device = 0;
    std::string name;
    std::string uuid;       // lower case, with hyphens
    std::uint64_t luid = 0; // 0: the GPU has no LUID
    std::uint64_t vram = 0; // bytes
    std::uint32_t capability = 0;
    std::string cig_d3d12_why; // reason why CiG is unavailable; empty: available
    std::string cig_vulkan_why;
};

// What CiG (CUDA in Graphics) requires for one graphics API.
struct CigNeeds {
    const char* api;
    int attribute; // the driver's own answer for a GPU
    int cuda;      // as cuDriverGetVersion() reports it: 12080 is 12.8
    bool luid;     // exists on Windows only, where GPUs have LUIDs
    const char* also;
};

class Driver {
public:
    // Loads the driver from `path`, or the system's driver if `path` is empty. Throws
    // Error(SOTTO_ERROR_UNSUPPORTED) with the reason if there is no working driver.
    static std::shared_ptr<const Driver> open(const std::filesystem::path& path = {});

    const cuda::Api& api() const noexcept { return api_; }
    // The newest CUDA version that the driver supports, as "13.0".
    const std::string& version() const noexcept { return version_; }

    // Throws Error(SOTTO_ERROR_UNSUPPORTED) with the name of the call unless `result` is success.
    void check(cuda::Result result, const char* call) const;
    // Returns the text of the error that check() would throw.
    std::string told(cuda::Result result, const char* call) const;

    // Number of GPUs.
    int count() const;
    Adapter adapter(int index) const;
    std::vector<Adapter> adapters() const;

private:
    explicit Driver(const std::filesystem::path& path);
    std::string cig_why(const Adapter& adapter, const CigNeeds& needs) const;
    std::string attribute_why(cuda::Device device, int attribute) const;

    cuda::Api api_{};
    int cuda_ = 0; // newest CUDA version, as cuDriverGetVersion() reports it
    std::string version_;
    DriverVersion installed_;
};

// with_luid() and with_uuid() return the GPU with the given LUID or UUID. If no GPU matches, both throw
// Error(SOTTO_ERROR_UNSUPPORTED) with a list of the GPUs present.
Adapter with_luid(const Driver& driver, std::uint64_t luid);
Adapter with_uuid(const Driver& driver, const std::string& uuid);

// Formats a UUID in lower case, with hyphens.
std::string uuid_text(const unsigned char bytes[16]);

} // namespace sotto::gpu
