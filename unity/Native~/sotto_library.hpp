// The Sotto library, found at run time.
//
// The plugin is not linked to it, for three reasons. Unity loads the plugin before any C# runs, so C# can't
// hand over pointers in time for vkCreateDevice(). A player without Sotto must still start. And a library of
// another version must be refused with a reason instead of a missing symbol.
#pragma once

#include <sotto/engine.h>
#include <sotto/gpu.h>
#include <sotto/stats.h>

#include "text.hpp"

namespace sotto::unity {

struct SottoLibrary {
    decltype(&sotto_version) version = nullptr;
    decltype(&sotto_last_error) last_error = nullptr;
    decltype(&sotto_gpu_query_vulkan) query_vulkan = nullptr;
    decltype(&sotto_engine_attach_gpu) attach_gpu = nullptr;
    decltype(&sotto_engine_detach_gpu) detach_gpu = nullptr;
    decltype(&sotto_engine_stats) stats = nullptr;

    // Returns the library that the process already loaded, else the one beside the plugin, else one that the
    // system finds by name. Returns NULL, with `reason`, if there is none or if it is of another minor
    // version than the plugin. Keeps the library loaded. Thread-safe.
    static const SottoLibrary* find(Text& reason);
};

} // namespace sotto::unity
