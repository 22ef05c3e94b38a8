// Defines the four Vulkan functions that ggml links by name, and forwards them to the loader.
#include "devices/vulkan/loader.hpp"

#include "runtime/fence.hpp"

#include <cstdlib>
#include <cstring>

#ifdef _WIN32
#  define WIN32_LEAN_AND_MEAN
#  include <windows.h>
#else
#  include <dlfcn.h>
#endif

namespace sotto::llama {
namespace {

struct Loader {
    PFN_vkGetInstanceProcAddr get = nullptr;
    std::string why;
};

#ifdef _WIN32
Loader open() {
    constexpr const char* kName = "vulkan-1.dll";
    auto* library = LoadLibraryExA(kName, nullptr, LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
    if (library == nullptr) {
        return {nullptr, std::string(kName) + " cannot be opened: error " + std::to_string(GetLastError())};
    }
    auto* get = reinterpret_cast<void*>(GetProcAddress(library, "vkGetInstanceProcAddr"));
    return {reinterpret_cast<PFN_vkGetInstanceProcAddr>(get), std::string(kName) + " is not a Vulkan loader"};
}
#else
Loader open() {
#  ifdef __APPLE__
    constexpr const char* kName = "libvulkan.1.dylib";
#  else
    constexpr const char* kName = "libvulkan.so.1";
#  endif
    void* library = dlopen(kName, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == nullptr) {
        const char* error = dlerror();
        return {nullptr, error != nullptr ? error : std::string(kName) + " cannot be opened"};
    }
    auto* get = dlsym(library, "vkGetInstanceProcAddr");
    return {reinterpret_cast<PFN_vkGetInstanceProcAddr>(get), std::string(kName) + " is not a Vulkan loader"};
}
#endif

const Loader& loader() {
    static const Loader& opened = *new Loader(open()); // never destroyed, like the module
    return opened;
}

std::string& shown() {
    static auto& devices = *new std::string;
    return devices;
}

// The Vulkan instance that ggml created last. ggml creates only one.
VkInstance ggml_instance = VK_NULL_HANDLE;

template <typename Function>
Function function(const char* name) {
    return reinterpret_cast<Function>(loader().get(ggml_instance, name));
}

VkResult VKAPI_CALL create_instance(
    const VkInstanceCreateInfo* info, const VkAllocationCallbacks* allocator, VkInstance* instance
) {
    const auto create =
        reinterpret_cast<PFN_vkCreateInstance>(loader().get(VK_NULL_HANDLE, "vkCreateInstance"));
    const auto result = create(info, allocator, instance);
    if (result == VK_SUCCESS) {
        ggml_instance = *instance;
    }
    return result;
}

} // namespace

PFN_vkGetInstanceProcAddr vulkan_loader() {
    const auto& opened = loader();
    if (opened.get == nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "no Vulkan loader was found (" + opened.why + "); install a graphics driver"
        );
    }
    return opened.get;
}

void show_ggml(std::string devices) {
    shown() = std::move(devices);
}

} // namespace sotto::llama

extern "C" {

using namespace sotto::llama;

PFN_vkVoidFunction VKAPI_CALL vkGetInstanceProcAddr(VkInstance instance, const char* name) {
    if (std::strcmp(name, "vkCreateInstance") == 0) {
        return reinterpret_cast<PFN_vkVoidFunction>(create_instance);
    }
    return loader().get(instance, name);
}

PFN_vkVoidFunction VKAPI_CALL vkGetDeviceProcAddr(VkDevice device, const char* name) {
    static const auto get = function<PFN_vkGetDeviceProcAddr>("vkGetDeviceProcAddr");
    return get(device, name);
}

void VKAPI_CALL vkGetPhysicalDeviceFeatures2(VkPhysicalDevice device, VkPhysicalDeviceFeatures2* features) {
    static const auto get = function<PFN_vkGetPhysicalDeviceFeatures2>("vkGetPhysicalDeviceFeatures2");
    get(device, features);
}

void VKAPI_CALL vkCmdCopyBuffer(
    VkCommandBuffer commands, VkBuffer from, VkBuffer to, uint32_t count, const VkBufferCopy* regions
) {
    static const auto copy = function<PFN_vkCmdCopyBuffer>("vkCmdCopyBuffer");
    copy(commands, from, to, count, regions);
}

// Replaces getenv() in ggml (see environment.hpp), so that ggml lists the devices that show_ggml() has set.
char* sotto_getenv(const char* name) {
    if (std::strcmp(name, "GGML_VK_VISIBLE_DEVICES") == 0) {
        return shown().data();
    }
    return std::strcmp(name, "GGML_DISABLE_VULKAN") == 0 ? nullptr : std::getenv(name);
}
}
