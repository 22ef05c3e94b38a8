// What the system says of the memory of graphics cards.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace sotto::gpu {

struct VideoMemory {
    std::string name;
    std::string uuid;            // "GPU-..."
    std::uint64_t total = 0;     // bytes
    std::uint64_t available = 0; // that nobody has, in any process
};

// Asks NVIDIA's management library (NVML), which comes with the driver.
class VideoMemoryProbe {
public:
    // Opens the library. Where that cannot be, or the driver does not answer, there are no cards to be seen.
    explicit VideoMemoryProbe(const std::filesystem::path& library);

    // The cards, as they are now. Any thread.
    std::vector<VideoMemory> look() const;
    // Why none can be seen; empty: they can.
    const std::string& why() const noexcept { return why_; }

private:
    using Device = struct nvmlDevice_st*;
    struct Memory {
        unsigned long long total;
        unsigned long long free;
        unsigned long long used;
    };
    // NVML's functions. Each returns 0 if it went well.
    int (*init_)() = nullptr;
    int (*count_)(unsigned*) = nullptr;
    int (*device_)(unsigned, Device*) = nullptr;
    int (*name_)(Device, char*, unsigned) = nullptr;
    int (*uuid_)(Device, char*, unsigned) = nullptr;
    int (*memory_)(Device, Memory*) = nullptr;
    std::string why_;
};

// The cards of this machine. The first call opens the library, which takes a moment where there is one.
std::vector<VideoMemory> video_memory();

} // namespace sotto::gpu
