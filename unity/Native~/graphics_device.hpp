// Unity's graphics device, and the engines that share it.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "sotto_library.hpp"
#include "sotto_unity.h"
#include "text.hpp"
#include "unity_interfaces.hpp"

namespace sotto::unity {

// Follows the device through its life. One per process.
class GraphicsDevice {
public:
    static GraphicsDevice& it();

    // Unity's calls. A second load() with the same interfaces has no effect.
    void load(const Interfaces* interfaces);
    void unload();

    // Fills all of `info` but `reason` and `struct_size`. Never waits.
    void describe(sotto_unity_graphics_info& info, Text& reason);

    // See sotto_unity.h. On failure `reason` says why.
    sotto_status
    attach(sotto_engine* engine, sotto_gpu_sharing min_sharing, sotto_gpu_sharing* sharing, Text& reason);
    sotto_status detach(sotto_engine* engine, Text& reason);

private:
    // What is known of the device.
    struct Shown {
        sotto_unity_state state = SOTTO_UNITY_STATE_NOT_LOADED;
        sotto_unity_renderer renderer = SOTTO_UNITY_RENDERER_NONE;
        std::int32_t unity_renderer = -1;
        void* d3d12_device = nullptr;
        void* d3d12_queue = nullptr;
        VulkanObjects vulkan{};
        Text reason; // why `state` is not READY
    };

    struct Handed;

    static void SOTTO_UNITY_CALL on_event(std::int32_t event);
    void handle(std::int32_t event);

    template <typename T>
    const T* find_interface(Guid guid) const;
    Shown read_device() const;
    void read_d3d12(Shown& shown) const;
    void read_vulkan(Shown& shown) const;
    void show(const Shown& shown);

    void detach_all();
    bool forget(sotto_engine* engine);
    void forget_destroyed(const SottoLibrary& library);

    // Held while an engine is attached or detached and while an event is handled, so that the device outlives
    // every attachment. Guards the next three. Never held while Unity is called with a callback. Taken first.
    std::mutex engines_mutex_;
    const Interfaces* interfaces_ = nullptr;
    const Graphics* graphics_ = nullptr;
    std::array<sotto_engine*, 64> engines_{}; // attached ones; a process has at most as many

    std::mutex mutex_; // guards the rest; held for moments
    Shown shown_;
    std::uint32_t generation_ = 0;
};

} // namespace sotto::unity
