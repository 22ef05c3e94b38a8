// A renderer on Direct3D 12.
#pragma once

#include <cstdint>

#include <sotto/gpu.h>

namespace sotto::gpu {

// The LUID of the card that it draws on. Throws Error(SOTTO_ERROR_ARGUMENT) where its objects are not what
// they should be, or can't be asked.
std::uint64_t luid_of(const sotto_gpu_d3d12& shown);

} // namespace sotto::gpu
