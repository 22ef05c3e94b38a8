// What the plugin exports: to Unity, and to C#.
#include <algorithm>
#include <cstddef>
#include <cstring>

#include "graphics_device.hpp"
#include "sotto_unity.h"

using sotto::unity::GraphicsDevice;
using sotto::unity::Text;

namespace {

thread_local Text t_error;  // of sotto_unity_last_error()
thread_local Text t_reason; // of sotto_unity_graphics()

} // namespace

extern "C" {

SOTTO_EXPORT void SOTTO_UNITY_CALL UnityPluginLoad(const sotto::unity::Interfaces* interfaces) {
    GraphicsDevice::it().load(interfaces);
}

SOTTO_EXPORT void SOTTO_UNITY_CALL UnityPluginUnload() {
    GraphicsDevice::it().unload();
}

uint32_t sotto_unity_abi(void) {
    return SOTTO_UNITY_ABI;
}

sotto_status sotto_unity_graphics(sotto_unity_graphics_info* info) {
    constexpr std::size_t kMaxSize = 4096;
    const std::size_t room = info != nullptr ? info->struct_size : 0;
    if (room < sizeof(info->struct_size) || room > kMaxSize) {
        t_error.format("invalid info->struct_size '%zu': expected sizeof the struct", room);
        return SOTTO_ERROR_ARGUMENT;
    }
    auto told = SOTTO_INIT(sotto_unity_graphics_info);
    GraphicsDevice::it().describe(told, t_reason);
    told.reason = t_reason.view();
    told.struct_size = info->struct_size;
    std::memcpy(info, &told, std::min(room, sizeof(told)));
    return SOTTO_OK;
}

sotto_status
sotto_unity_attach(sotto_engine* engine, sotto_gpu_sharing min_sharing, sotto_gpu_sharing* sharing) {
    if (sharing != nullptr) {
        *sharing = SOTTO_GPU_SHARING_NONE;
    }
    return GraphicsDevice::it().attach(engine, min_sharing, sharing, t_error);
}

sotto_status sotto_unity_detach(sotto_engine* engine) {
    return GraphicsDevice::it().detach(engine, t_error);
}

sotto_str sotto_unity_last_error(void) {
    return t_error.view();
}

} // extern "C"
