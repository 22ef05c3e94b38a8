// Unity's interfaces for native plugins, as far as the plugin calls them.
//
// Declared by hand from facts: the order of functions in each table, the identifiers and the numbers are
// Unity's binary interface. Unity's own headers are not used; their licence allows that in Unity projects
// only. A Slot is a function of the table that the plugin does not call.
#pragma once

#include <cstdint>

#if defined(_WIN32)
#  define SOTTO_UNITY_CALL __stdcall
#else
#  define SOTTO_UNITY_CALL
#endif

namespace sotto::unity {

using Slot = void(SOTTO_UNITY_CALL*)();

// Identifies an interface.
struct Guid {
    unsigned long long high;
    unsigned long long low;
};

constexpr Guid kGraphicsGuid = {0x7CBA0A9CA4DDB544, 0x8C5AD4926EB17B11};
constexpr Guid kVulkanGuid = {0x95355348D4EF4E11, 0x9789313DFCFFCC87};
constexpr Guid kVulkanV2Guid = {0x329334C09DCA4787, 0xB347DD92A0097FFC};
constexpr Guid kD3D12v4Guid = {0x498FFCC13EC94006, 0xB18F8B0FF67778C8};
constexpr Guid kD3D12v5Guid = {0xF5C8D8A37D37BC42, 0xB02DFE93B5064A27};
constexpr Guid kD3D12v6Guid = {0xA396DCE58CAC4D78, 0xAFDD9B281F20B840};
constexpr Guid kD3D12v7Guid = {0x4624B0DA41B64AAC, 0x915AABCB9BC3F0D3};

// IUnityInterfaces: hands out the other interfaces.
struct Interfaces {
    Slot get_interface;
    Slot register_interface;
    void*(SOTTO_UNITY_CALL* get_interface_split)(unsigned long long high, unsigned long long low);
    Slot register_interface_split;
};

// UnityGfxRenderer.
enum Renderer : std::int32_t {
    kD3D11 = 2,
    kNull = 4, // without graphics, or before the device is created
    kOpenGlEs3 = 11,
    kMetal = 16,
    kOpenGlCore = 17,
    kD3D12 = 18,
    kVulkan = 21,
};

// UnityGfxDeviceEventType.
enum DeviceEvent : std::int32_t {
    kInitialize = 0,
    kShutdown = 1,
    kBeforeReset = 2,
    kAfterReset = 3,
};

using DeviceCallback = void(SOTTO_UNITY_CALL*)(std::int32_t event);

// IUnityGraphics.
struct Graphics {
    std::int32_t(SOTTO_UNITY_CALL* get_renderer)();
    void(SOTTO_UNITY_CALL* register_callback)(DeviceCallback callback);
    void(SOTTO_UNITY_CALL* unregister_callback)(DeviceCallback callback);
    Slot reserve_event_range;
};

// IUnityGraphicsD3D12v4, v5 and v6 begin alike.
struct D3D12v4 {
    void*(SOTTO_UNITY_CALL* get_device)();
    Slot not_used[4];
    void*(SOTTO_UNITY_CALL* get_command_queue)();
};

// IUnityGraphicsD3D12v7.
struct D3D12v7 {
    void*(SOTTO_UNITY_CALL* get_device)();
    Slot not_used[7];
    void*(SOTTO_UNITY_CALL* get_command_queue)();
};

using VulkanFunction = void (*)();
using GetVulkanFunction = VulkanFunction (*)(void* instance, const char* name);

// UnityVulkanInstance.
struct VulkanObjects {
    void* pipeline_cache;
    void* instance;
    void* physical_device;
    void* device;
    void* queue;
    GetVulkanFunction get_instance_proc_addr;
    unsigned int queue_family;
    void* reserved[8];
};

// UnityVulkanInitCallback: receives vkGetInstanceProcAddr, and returns the one that Unity shall use.
using VulkanInitCallback = GetVulkanFunction(SOTTO_UNITY_CALL*)(GetVulkanFunction next, void* user);

// IUnityGraphicsVulkan; its successor begins alike.
struct Vulkan {
    Slot not_used[3];
    VulkanObjects(SOTTO_UNITY_CALL* instance)();
};

// IUnityGraphicsVulkanV2.
struct VulkanV2 {
    Slot not_used[3];
    VulkanObjects(SOTTO_UNITY_CALL* instance)();
    Slot not_used_either[10];
    bool(SOTTO_UNITY_CALL* add_intercept)(VulkanInitCallback callback, void* user, std::int32_t priority);
    bool(SOTTO_UNITY_CALL* remove_intercept)(VulkanInitCallback callback);
};

} // namespace sotto::unity
