#include "gpu/video_memory.hpp"

#include <type_traits>

#include "base/path.hpp"
#include "gpu/driver_version.hpp"
#include "platform/dynlib.hpp"
#include "platform/process.hpp"

namespace sotto::gpu {

VideoMemoryProbe::VideoMemoryProbe(const std::filesystem::path& library) {
    void* opened = open_library(library, why_);
    if (opened == nullptr) {
        return;
    }
    const auto find = [&](auto& function, const char* name) {
        function = reinterpret_cast<std::decay_t<decltype(function)>>(find_symbol(opened, name));
        if (function == nullptr && why_.empty()) {
            why_ = utf8_of(library) + " has no " + name;
        }
    };
    find(init_, "nvmlInit_v2");
    find(count_, "nvmlDeviceGetCount_v2");
    find(device_, "nvmlDeviceGetHandleByIndex_v2");
    find(name_, "nvmlDeviceGetName");
    find(uuid_, "nvmlDeviceGetUUID");
    find(memory_, "nvmlDeviceGetMemoryInfo");
    if (!why_.empty()) {
        return;
    }
    if (const int status = init_(); status != 0) {
        why_ = "nvmlInit_v2 failed with " + std::to_string(status);
    }
}

std::vector<VideoMemory> VideoMemoryProbe::look() const {
    std::vector<VideoMemory> cards;
    unsigned count = 0;
    if (!why_.empty() || count_(&count) != 0) {
        return cards;
    }
    for (unsigned i = 0; i < count; ++i) {
        constexpr unsigned kMax = 96; // characters, the limit of NVML
        char name[kMax] = "";
        char uuid[kMax] = "";
        Device device = nullptr;
        Memory memory{};
        const bool there = device_(i, &device) == 0 && memory_(device, &memory) == 0 &&
                           name_(device, name, kMax) == 0 && uuid_(device, uuid, kMax) == 0;
        if (there) { // otherwise the GPU is lost, or not accessible to this process
            cards.push_back({name, uuid, memory.total, memory.free});
        }
    }
    return cards;
}

std::vector<VideoMemory> video_memory() {
    struct Probe : VideoMemoryProbe {
        Probe() : VideoMemoryProbe(nvml_name()) {}
    };
    static PerProcess<Probe> probe;
    return probe.get().look();
}

} // namespace sotto::gpu
