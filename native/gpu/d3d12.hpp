// Checks of a host's Direct3D 12 renderer.
#pragma once

#include <cstdint>

#include <sotto/gpu.h>

namespace sotto::gpu {

// Returns the LUID of the GPU that the renderer draws on. Throws Error(SOTTO_ERROR_ARGUMENT) if its objects
// are invalid or cannot be queried.
std::uint64_t luid_of(const sotto_gpu_d3d12& shown);

} // namespace sotto::gpu
