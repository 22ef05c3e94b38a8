// The CUDA driver, opened at run time, and the cards that it knows.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "gpu/cuda_api.hpp"

namespace sotto::gpu {

// A card, as the driver describes it.
struct Adapter {
    cuda::Device device = 0;
    std::string name;
    std::string uuid;       // in lower case, with hyphens
    std::uint64_t luid = 0; // 0: it has none
    std::uint64_t vram = 0; // bytes
    std::uint32_t capability = 0;
    std::string cig_d3d12_why; // why it can't; empty: it can
    std::string cig_vulkan_why;
};

class Driver {
public:
    // Opens the driver in that file, or the system's. Throws Error(SOTTO_ERROR_UNSUPPORTED) where there is
    // none, or none that works; `why` in words.
    static std::shared_ptr<const Driver> open(const std::filesystem::path& path = {});

    const cuda::Api& api() const noexcept { return api_; }
    // The newest CUDA it speaks, as "13.0".
    const std::string& version() const noexcept { return version_; }

    // Throws Error(SOTTO_ERROR_UNSUPPORTED) for what isn't a success, with the name of the call.
    void check(cuda::Result result, const char* call) const;
    // The same in words, without throwing.
    std::string told(cuda::Result result, const char* call) const;

    // How many cards it has.
    int count() const;
    Adapter adapter(int index) const;
    std::vector<Adapter> adapters() const;

private:
    explicit Driver(const std::filesystem::path& path);
    std::string cig_why(cuda::Device device, int attribute, const char* needs) const;

    cuda::Api api_{};
    std::string version_;
};

// The one with that LUID or UUID. Throws Error(SOTTO_ERROR_UNSUPPORTED), which names those that there are.
Adapter with_luid(const Driver& driver, std::uint64_t luid);
Adapter with_uuid(const Driver& driver, const std::string& uuid);

// In lower case, with hyphens.
std::string uuid_text(const unsigned char bytes[16]);

} // namespace sotto::gpu
