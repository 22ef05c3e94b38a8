// NVIDIA's driver and cuBLAS, opened at run time: machines without them start as well.
#pragma once

#include <cuda.h>

namespace sotto::llama {

// What is asked of the driver here; all else goes through its runtime, which is a part of this module.
struct CudaDriver {
    decltype(&cuInit) init = nullptr;
    decltype(&cuDriverGetVersion) version = nullptr;
    decltype(&cuGetErrorName) error_name = nullptr;
    decltype(&cuDeviceGetCount) count = nullptr;
    decltype(&cuDeviceGet) device = nullptr;
    decltype(&cuDeviceGetName) name = nullptr;
    decltype(&cuDeviceGetUuid) uuid = nullptr;
    decltype(&cuDeviceTotalMem) memory = nullptr;
    decltype(&cuDeviceGetAttribute) attribute = nullptr;
    decltype(&cuCtxGetCurrent) current = nullptr;
    decltype(&cuCtxSetCurrent) set_current = nullptr;
    decltype(&cuCtxSynchronize) synchronize = nullptr;
    decltype(&cuCtxGetDevice) device_of_current = nullptr;
    decltype(&cuCtxGetId) id = nullptr;
    decltype(&cuCtxGetLimit) limit = nullptr;
};

// Throws Error(SOTTO_ERROR_UNSUPPORTED) with the reason where there is none.
const CudaDriver& cuda_driver();

// Finds all that ggml calls of cuBLAS. Throws Error(SOTTO_ERROR_UNSUPPORTED) with the reason where it cannot.
void open_blas();

} // namespace sotto::llama
