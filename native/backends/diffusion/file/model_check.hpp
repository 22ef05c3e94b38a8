// Checks the files of one model together, as stable-diffusion.cpp derives a network's sizes from names and
// shapes.
#pragma once

#include <span>
#include <string_view>

#include "backends/diffusion/file/weights_check.hpp"

namespace sotto::diffusion {

// A file, and the prefix that stable-diffusion.cpp puts before names that do not begin with it.
struct LoadedFile {
    const WeightsFile& file;
    std::string_view prefix; // such as "model.diffusion_model."; empty: a whole checkpoint
};

// Throws Error(SOTTO_ERROR_MODEL) with the tensor and the reason if a size is missing that
// stable-diffusion.cpp divides by, or a size is far above that of published networks.
void check_model(std::span<const LoadedFile> files);

// Checks a LoRA. Throws Error(SOTTO_ERROR_MODEL).
void check_lora(const WeightsFile& file);

} // namespace sotto::diffusion
