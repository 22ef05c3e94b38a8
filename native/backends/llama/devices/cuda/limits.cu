// Reports the lowest compute capability of the kernels, and limits the shared memory that ggml may use.
//
// ggml queries once, for the GPU, how much shared memory a thread block may have. In a renderer's scheduling
// context (CiG) a block may have less, and ggml must choose other kernels. Linked with --wrap, for all of
// ggml's files except its main file.
#include "devices/cuda/runtime.hpp"

#include <algorithm>
#include <common.cuh>
#include <iterator>

int sotto_least_capability() {
    constexpr int compiled_for[] = {__CUDA_ARCH_LIST__};
    return *std::min_element(std::begin(compiled_for), std::end(compiled_for)) / 10;
}

extern "C" const ggml_cuda_device_info& __real__Z14ggml_cuda_infov();

extern "C" const ggml_cuda_device_info& __wrap__Z14ggml_cuda_infov() {
    const auto& whole = __real__Z14ggml_cuda_infov();
    const auto bytes = sotto_block_memory();
    if (bytes == 0) {
        return whole;
    }
    thread_local std::size_t told = 0;
    thread_local ggml_cuda_device_info less;
    if (told != bytes) {
        less = whole;
        for (auto& device : less.devices) {
            device.smpb = std::min(device.smpb, bytes);
            device.smpbo = std::min(device.smpbo, bytes);
        }
        told = bytes;
    }
    return less;
}
