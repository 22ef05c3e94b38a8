#include "vulkan_renderer.hpp"

#include <chrono>

#include <doctest/doctest.h>

#if defined(_WIN32)
#  define WIN32_LEAN_AND_MEAN
#  include <windows.h>
#else
#  include <dlfcn.h>
#endif

namespace test {

namespace {

// Keeps the driver loaded with an instance of its own: LeakSanitizer can't name a library that was unloaded.
void keep_driver(GetProc get) {
    static VkInstance kept = VK_NULL_HANDLE;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    const auto create = reinterpret_cast<PFN_vkCreateInstance>(get(nullptr, "vkCreateInstance"));
    REQUIRE((kept != VK_NULL_HANDLE || create(&info, nullptr, &kept) == VK_SUCCESS));
}

} // namespace

GetProc system_loader() {
#if defined(_WIN32)
    HMODULE library = LoadLibraryA("vulkan-1.dll");
    REQUIRE((library != nullptr));
    auto* const address = reinterpret_cast<void*>(GetProcAddress(library, "vkGetInstanceProcAddr"));
    const auto found = reinterpret_cast<GetProc>(address);
#else
    void* library = dlopen("libvulkan.so.1", RTLD_NOW | RTLD_LOCAL);
    REQUIRE_MESSAGE((library != nullptr), dlerror());
    const auto found = reinterpret_cast<GetProc>(dlsym(library, "vkGetInstanceProcAddr"));
#endif
    REQUIRE((found != nullptr));
    keep_driver(found);
    return found;
}

Renderer::Renderer(GetProc get) : get_(get) {
    VkApplicationInfo application{};
    application.sType = VK_STRUCTURE_TYPE_APPLICATION_INFO;
    application.apiVersion = VK_API_VERSION_1_2;
    VkInstanceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_INSTANCE_CREATE_INFO;
    info.pApplicationInfo = &application;
    REQUIRE(look_up<PFN_vkCreateInstance>("vkCreateInstance")(&info, nullptr, &instance) == VK_SUCCESS);
    std::uint32_t count = 1;
    look_up<PFN_vkEnumeratePhysicalDevices>("vkEnumeratePhysicalDevices")(instance, &count, &physical_device);
    REQUIRE(count == 1);
    VkQueueFamilyProperties families[16];
    count = 16;
    look_up<PFN_vkGetPhysicalDeviceQueueFamilyProperties>("vkGetPhysicalDeviceQueueFamilyProperties")(
        physical_device, &count, families
    );
    while (family + 1 < count && (families[family].queueFlags & VK_QUEUE_GRAPHICS_BIT) == 0) {
        ++family;
    }
}

Renderer::~Renderer() {
    destroy_device();
    look_up<PFN_vkDestroyInstance>("vkDestroyInstance")(instance, nullptr);
}

void Renderer::create_device(std::vector<const char*> extensions) {
    const float priority = 1;
    VkDeviceQueueCreateInfo queues{};
    queues.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
    queues.queueFamilyIndex = family;
    queues.queueCount = 1;
    queues.pQueuePriorities = &priority;
    VkPhysicalDeviceTimelineSemaphoreFeatures timeline{};
    timeline.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_TIMELINE_SEMAPHORE_FEATURES;
    timeline.timelineSemaphore = VK_TRUE;
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &timeline;
    info.queueCreateInfoCount = 1;
    info.pQueueCreateInfos = &queues;
    info.enabledExtensionCount = static_cast<std::uint32_t>(extensions.size());
    info.ppEnabledExtensionNames = extensions.data();
    const auto create = look_up<PFN_vkCreateDevice>("vkCreateDevice");
    REQUIRE(create(physical_device, &info, nullptr, &device) == VK_SUCCESS);
    CHECK(info.pNext == &timeline); // what Unity holds is left as it is
    CHECK(timeline.pNext == nullptr);
    CHECK(info.enabledExtensionCount == extensions.size());
    look_up<PFN_vkGetDeviceQueue>("vkGetDeviceQueue")(device, family, 0, &queue);
}

void Renderer::destroy_device() {
    if (device != VK_NULL_HANDLE) {
        look_up<PFN_vkDestroyDevice>("vkDestroyDevice")(device, nullptr);
        device = VK_NULL_HANDLE;
    }
}

VulkanInstance Renderer::shown(GetProc loader) const {
    VulkanInstance made{};
    made.instance = instance;
    made.physical_device = physical_device;
    made.device = device;
    made.graphics_queue = queue;
    made.get_instance_proc_addr = loader;
    made.queue_family_index = family;
    return made;
}

VulkanUnity::VulkanUnity(GetProc loader, std::vector<const char*> with)
    : renderer(Unity::it().start_vulkan(loader)), extensions(std::move(with)), loader_(loader) {
    renderer.create_device(extensions);
    Unity::it().renderer = kVulkan;
    show();
    Unity::it().send(kInitialize);
}

VulkanUnity::~VulkanUnity() {
    Unity::it().send(kShutdown);
    Unity::it().vulkan = {};
    Unity::it().renderer = kNull;
}

double VulkanUnity::restart_device() {
    const auto begin = std::chrono::steady_clock::now();
    Unity::it().send(kShutdown);
    renderer.destroy_device();
    renderer.create_device(extensions);
    show();
    Unity::it().send(kInitialize);
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

void VulkanUnity::reset_device() {
    Unity::it().send(kBeforeReset);
    renderer.destroy_device();
    renderer.create_device(extensions);
    show();
    Unity::it().send(kAfterReset);
}

void VulkanUnity::show() {
    Unity::it().vulkan = renderer.shown(loader_);
}

} // namespace test
