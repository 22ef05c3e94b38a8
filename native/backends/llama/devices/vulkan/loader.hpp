// The Vulkan loader library, opened at run time, so that the module also loads on machines without it.
#pragma once

#include <string>
#include <vulkan/vulkan_core.h>

namespace sotto::llama {

// Returns the loader's vkGetInstanceProcAddr. Throws Error(SOTTO_ERROR_UNSUPPORTED) if there is no loader.
PFN_vkGetInstanceProcAddr vulkan_loader();

// Sets the devices that ggml lists, by index, as in "0,1". By default ggml omits some devices, and lets
// environment variables of the host choose.
void show_ggml(std::string devices);

} // namespace sotto::llama
