// NVIDIA's driver and cuBLAS, loaded at run time, so that the module also loads on machines without them.
#pragma once

#include <cuda.h>

namespace sotto::llama {

// Driver functions that are called directly. All other calls go through the CUDA runtime, which is linked
// statically.
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

// Throws Error(SOTTO_ERROR_UNSUPPORTED) with the reason if there is no usable driver.
const CudaDriver& cuda_driver();

// Loads all cuBLAS functions that ggml calls. Throws Error(SOTTO_ERROR_UNSUPPORTED) with the reason if that
// fails.
void open_blas();

} // namespace sotto::llama
