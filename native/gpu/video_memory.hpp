// Memory of all NVIDIA GPUs, as the driver reports it.
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
    std::uint64_t available = 0; // bytes free, counting all processes
};

// Queries NVIDIA's management library (NVML), which comes with the driver.
class VideoMemoryProbe {
public:
    // Opens the library. If that fails, or the driver does not answer, the list of GPUs is empty.
    explicit VideoMemoryProbe(const std::filesystem::path& library);

    // Returns the GPUs with their current memory. Any thread.
    std::vector<VideoMemory> look() const;
    // Reason why no GPU can be queried; empty: GPUs can be queried.
    const std::string& why() const noexcept { return why_; }

private:
    using Device = struct nvmlDevice_st*;
    struct Memory {
        unsigned long long total;
        unsigned long long free;
        unsigned long long used;
    };
    // NVML's functions. Each returns 0 on success.
    int (*init_)() = nullptr;
    int (*count_)(unsigned*) = nullptr;
    int (*device_)(unsigned, Device*) = nullptr;
    int (*name_)(Device, char*, unsigned) = nullptr;
    int (*uuid_)(Device, char*, unsigned) = nullptr;
    int (*memory_)(Device, Memory*) = nullptr;
    std::string why_;
};

// Returns the GPUs of this machine. The first call opens the library, which can take noticeable time.
std::vector<VideoMemory> video_memory();

} // namespace sotto::gpu
