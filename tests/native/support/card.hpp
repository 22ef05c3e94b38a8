// Fake GPU drivers: a CUDA driver, loaded as a library, and a Vulkan device, created here.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <dlfcn.h>

#include <doctest/doctest.h>
#include <sotto/gpu.h>

#include "gpu/vulkan_api.hpp"
#include "support/paths.hpp"

namespace test {

// The fake CUDA driver: see tests/gpu/double. Once loaded, opening the system's driver by name finds it too.
class CudaDouble {
public:
    explicit CudaDouble(const char* path = paths::kCudaDouble)
        : library_(dlopen(path, RTLD_NOW | RTLD_LOCAL)) {
        REQUIRE_MESSAGE(library_ != nullptr, dlerror());
        set("reset", 2);
    }

    void set(const char* what, long value) const {
        call<void(const char*, long)>("sotto_double_set")(what, value);
    }
    void fail(const char* name, long ordinal, int result = 999) const {
        call<void(const char*, long, int)>("sotto_double_fail")(name, ordinal, result);
    }
    long get(const char* what) const { return call<long(const char*)>("sotto_double_get")(what); }
    long calls(const char* name) const { return call<long(const char*)>("sotto_double_calls")(name); }
    std::string misuses() const { return call<const char*()>("sotto_double_misuses")(); }
    void* context(int card, bool cig) const {
        return call<void*(int, int)>("sotto_double_context")(card, cig);
    }
    void gone(void* context) const { call<void(void*)>("sotto_double_context_gone")(context); }
    // Returns a function of the driver.
    template <typename Function>
    Function* call(const char* name) const {
        auto* found = reinterpret_cast<Function*>(dlsym(library_, name));
        REQUIRE((found != nullptr));
        return found;
    }

    // Checks that nothing was leaked or misused.
    void check_clean(long depth = 0) const {
        CHECK(get("contexts") == 0);
        CHECK(get("streams") == 0);
        CHECK(get("depth") == depth);
        CHECK(misuses() == "");
    }

private:
    void* const library_;
};

// LUID of a fake GPU.
constexpr std::uint64_t luid(unsigned card) {
    return 0x100000000ULL + 0xd0 + card;
}

// A fake Vulkan instance with one graphics device, on a GPU of the fake CUDA driver.
class VulkanDouble {
public:
    VulkanDouble() { it() = {}; }

    struct State {
        int card = 1;
        bool extension = true; // the device supports the extension
        bool enabled = true;   // the host has enabled it
        bool old = false;      // instance of Vulkan 1.0
        std::uint32_t data_size = 100;
        sotto::gpu::vk::Result create = 0;
        int queues = 0; // current number of external queues
        int made = 0;
        int misuses = 0;
        void* preferred = nullptr;
    };
    static State& it() {
        static State state;
        return state;
    }

    static sotto_gpu_vulkan renderer() {
        auto vulkan = SOTTO_INIT(sotto_gpu_vulkan);
        vulkan.instance = handle(1);
        vulkan.physical_device = handle(2);
        vulkan.device = handle(3);
        vulkan.queue = handle(4);
        vulkan.get_instance_proc_addr = get;
        return vulkan;
    }
    static void* handle(std::uintptr_t number) { return reinterpret_cast<void*>(number << 8); }

private:
    using Function = void*;
    template <typename T>
    static void* as(T* function) {
        return reinterpret_cast<void*>(function);
    }

    static void* SOTTO_CALL get(void* instance, const char* name) {
        using namespace sotto::gpu::vk;
        const std::string asked = name;
        if (instance != handle(1)) {
            return nullptr;
        }
        if (asked == "vkEnumeratePhysicalDevices") {
            return as(+[](void*, std::uint32_t* count, void** devices) -> Result {
                if (devices != nullptr) {
                    devices[0] = handle(2);
                }
                *count = 1;
                return kSuccess;
            });
        }
        if (asked == "vkEnumerateDeviceExtensionProperties") {
            return as(+[](void*, const char*, std::uint32_t* count, ExtensionProperties* out) -> Result {
                *count = it().extension ? 2 : 1;
                if (out != nullptr) {
                    std::strcpy(out[0].name, "VK_KHR_swapchain");
                    if (it().extension) {
                        std::strcpy(out[1].name, kExternalComputeQueue);
                    }
                }
                return kSuccess;
            });
        }
        if (asked == "vkGetPhysicalDeviceQueueFamilyProperties") {
            return as(+[](void*, std::uint32_t* count, QueueFamilyProperties* families) {
                *count = 2;
                if (families != nullptr) {
                    families[0] = {kGraphicsQueue | 6, 1, 0, {}};
                    families[1] = {6, 2, 0, {}};
                }
            });
        }
        if (asked == "vkGetPhysicalDeviceProperties2") {
            return it().old ? nullptr : as(&properties);
        }
        return asked == "vkGetDeviceProcAddr" ? as(&device_function) : nullptr;
    }

    static void properties(void*, sotto::gpu::vk::Properties2* out) {
        using namespace sotto::gpu::vk;
        const auto type = *static_cast<std::int32_t*>(out->next);
        if (type == kIdProperties) {
            auto& id = *static_cast<IdProperties*>(out->next);
            for (int i = 0; i < 16; ++i) {
                id.device_uuid[i] = static_cast<unsigned char>(0x10 * it().card + i);
            }
        } else if (type == kExternalProperties) {
            static_cast<ExternalProperties*>(out->next)->data_size = it().data_size;
        }
    }

    static sotto::gpu::vk::Function device_function(void* device, const char* name) {
        using namespace sotto::gpu::vk;
        const std::string asked = name;
        const auto plain = [](auto* function) {
            return reinterpret_cast<sotto::gpu::vk::Function>(function);
        };
        if (asked == "vkGetDeviceQueue") {
            return plain(+[](void*, std::uint32_t family, std::uint32_t, void** queue) {
                *queue = handle(family == 0 ? 4 : 5);
            });
        }
        if (device != handle(3) || !it().enabled) {
            return nullptr;
        }
        if (asked == "vkCreateExternalComputeQueueNV") {
            return plain(+[](void*, const ExternalQueueInfo* info, const void*, void** queue) -> Result {
                auto& state = it();
                if (state.create != kSuccess) {
                    return state.create;
                }
                if (state.queues == 1 || info->type != kExternalQueueInfo) { // one queue was reserved
                    ++state.misuses;
                    return -3;
                }
                state.preferred = info->preferred_queue;
                ++state.queues;
                ++state.made;
                *queue = handle(9);
                return kSuccess;
            });
        }
        if (asked == "vkGetExternalComputeQueueDataNV") {
            return plain(+[](void* queue, ExternalDataParams* params, void* data) {
                it().misuses += queue != handle(9) || params->type != kExternalDataParams;
                std::memset(data, 0, it().data_size);
                std::memcpy(data, "blob", 4);
            });
        }
        if (asked == "vkDestroyExternalComputeQueueNV") {
            return plain(+[](void*, void* queue, const void*) {
                it().misuses += queue != handle(9) || it().queues != 1;
                --it().queues;
            });
        }
        return nullptr;
    }
};

} // namespace test
