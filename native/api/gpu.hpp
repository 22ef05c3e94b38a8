// Reads the GPU description that a host passes.
#pragma once

#include <sotto/gpu.h>

#include "core/settings.hpp"

namespace sotto::api {

// Checks and converts a GPU description. Throws Error(SOTTO_ERROR_ARGUMENT) unless the description names
// exactly one graphics API, with all required fields.
gpu::Renderer read_gpu(const sotto_gpu_desc& asked);

} // namespace sotto::api
