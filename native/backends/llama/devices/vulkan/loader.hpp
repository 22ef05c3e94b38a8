// The Vulkan loader, opened at run time: machines without one start as well.
#pragma once

#include <string>
#include <vulkan/vulkan_core.h>

namespace sotto::llama {

// The loader's vkGetInstanceProcAddr. Throws Error(SOTTO_ERROR_UNSUPPORTED) where there is none.
PFN_vkGetInstanceProcAddr vulkan_loader();

// Which devices ggml is to know of, by their numbers, as in "0,1". Of its own it leaves some out, and would
// let the host's environment choose.
void show_ggml(std::string devices);

} // namespace sotto::llama
