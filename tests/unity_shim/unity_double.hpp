// A double of Unity, as a native plugin sees it: interface tables, device events, Vulkan start-up.
//
// The tables are written independently of unity/Native~/unity_interfaces.hpp, as numbered slots, so that a
// slot that the plugin counts wrong is found here. It is no Unity: what Unity does beyond this is not known
// here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace test {

#if defined(_WIN32)
#  define TEST_UNITY_CALL __stdcall
#else
#  define TEST_UNITY_CALL
#endif

using VoidFunction = void (*)();
using GetProc = VoidFunction (*)(void* instance, const char* name);
using Intercept = GetProc(TEST_UNITY_CALL*)(GetProc next, void* user);
using DeviceCallback = void(TEST_UNITY_CALL*)(int event);

// What Unity hands out of its Vulkan renderer.
struct VulkanInstance {
    std::uint64_t pipeline_cache;
    void* instance;
    void* physical_device;
    void* device;
    void* graphics_queue;
    GetProc get_instance_proc_addr;
    std::uint32_t queue_family_index;
    void* reserved[8];
};

enum GfxRenderer {
    kD3D11 = 2,
    kNull = 4,
    kOpenGlEs3 = 11,
    kMetal = 16,
    kOpenGlCore = 17,
    kD3D12 = 18,
    kVulkan = 21
};
enum DeviceEvent { kInitialize = 0, kShutdown = 1, kBeforeReset = 2, kAfterReset = 3 };

// The state of the double; tests set it. There is one Unity in a process.
struct Unity {
    int renderer = kNull;
    bool has_graphics = true;
    bool has_vulkan = true;
    bool has_vulkan_v2 = true;
    std::vector<int> d3d12_versions = {4, 5, 6, 7};
    void* d3d12_device = nullptr;
    void* d3d12_queue = nullptr;
    VulkanInstance vulkan{};

    std::vector<DeviceCallback> callbacks;
    struct Registered {
        Intercept callback;
        void* user;
        int priority;
    };
    std::vector<Registered> intercepts;
    bool vulkan_started = false; // from then on intercepts are refused
    int misuses = 0;     // calls that no plugin may make, and calls of slots that this one has no use for
    int asked_d3d12 = 0; // the version that was read, 0: none

    // The double as it starts, and what it hands to UnityPluginLoad().
    static Unity& fresh();
    static Unity& it();
    static const void* interfaces();

    // Tells each plugin.
    void send(DeviceEvent event) const;
    // vkGetInstanceProcAddr as Unity uses it: through the plugins' intercepts, the highest priority first.
    GetProc start_vulkan(GetProc loader);
};

} // namespace test
