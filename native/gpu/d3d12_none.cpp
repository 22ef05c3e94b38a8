// Platforms without Direct3D 12: the objects cannot be queried, so the host must pass the LUID.
#include "gpu/d3d12.hpp"

#include "base/error.hpp"

namespace sotto::gpu {

std::uint64_t luid_of(const sotto_gpu_d3d12& shown) {
    if (shown.luid == 0) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "missing d3d12->luid: expected the LUID of the renderer's device; it cannot be queried on this "
            "system"
        );
    }
    return shown.luid;
}

} // namespace sotto::gpu
