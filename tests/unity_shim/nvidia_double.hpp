// A double of what NVIDIA's Vulkan driver has beyond the driver of this machine:
// VK_NV_external_compute_queue.
//
// It stands in front of the real loader and device, and takes away again what these do not know. It computes
// nothing, and says nothing about what NVIDIA's driver does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "unity_double.hpp"

namespace test {

struct Nvidia {
    bool refuses = false; // vkCreateDevice() with the extension fails
    bool hides = false;   // vkEnumeratePhysicalDevices() fails
    int card = 1;         // of the double of the CUDA driver: tests/gpu/double

    int devices = 0;                     // created
    std::vector<std::string> extensions; // that the newest device was created with
    std::uint32_t reserved_queues = 0;   // the same
    bool keeps_features = false;         // whether the newest chain holds Unity's own struct
    int lent = 0;                        // external queues that are alive
    void* preferred = nullptr;           // the queue that the newest one is to share
    int misuses = 0;

    static Nvidia& fresh();
    static Nvidia& it();
    // vkGetInstanceProcAddr of such a driver.
    static GetProc loader();
};

constexpr const char* kExternalComputeQueue = "VK_NV_external_compute_queue";

} // namespace test
