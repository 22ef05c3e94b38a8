// Lists the devices of the CUDA module.
#include "devices/cuda/libraries.hpp"
#include "devices/cuda/runtime.hpp"
#include "devices/device.hpp"

#include <array>
#include <cuda_runtime_api.h>

namespace sotto::llama {
namespace {

void check(const CudaDriver& driver, CUresult result, const char* call) {
    if (result == CUDA_SUCCESS) {
        return;
    }
    const char* name = nullptr;
    const bool named = driver.error_name(result, &name) == CUDA_SUCCESS && name != nullptr;
    throw Error(
        SOTTO_ERROR_UNSUPPORTED,
        std::string(call) + ": " + (named ? name : ("error " + std::to_string(result)).c_str())
    );
}

int attribute(const CudaDriver& driver, CUdevice handle, CUdevice_attribute which) {
    int value = 0;
    check(driver, driver.attribute(&value, which, handle), "cuDeviceGetAttribute");
    return value;
}

Device describe(const CudaDriver& driver, int index) {
    CUdevice handle = 0;
    check(driver, driver.device(&handle, index), "cuDeviceGet");
    std::array<char, 256> name{};
    check(driver, driver.name(name.data(), static_cast<int>(name.size()) - 1, handle), "cuDeviceGetName");
    CUuuid uuid{};
    check(driver, driver.uuid(&uuid, handle), "cuDeviceGetUuid");
    std::size_t memory = 0;
    check(driver, driver.memory(&memory, handle), "cuDeviceTotalMem");
    const int major = attribute(driver, handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
    const int minor = attribute(driver, handle, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
    Device device;
    device.name = name.data();
    device.type = attribute(driver, handle, CU_DEVICE_ATTRIBUTE_INTEGRATED) != 0 ? "integrated" : "discrete";
    device.uuid = uuid_text(reinterpret_cast<const std::uint8_t*>(uuid.bytes));
    device.memory = memory;
    if (const int least = sotto_least_capability(); major * 10 + minor < least) {
        device.unfit = "compute capability " + std::to_string(major) + "." + std::to_string(minor) +
                       " is below " + std::to_string(least / 10) + "." + std::to_string(least % 10) +
                       ", the minimum of this build";
    }
    return device;
}

} // namespace

const char* const kDeviceKind = "cuda";
const sotto_backend_uses kDeviceUses = SOTTO_BACKEND_CUDA;

std::vector<Device> find_devices() {
    const auto& driver = cuda_driver();
    check(driver, driver.init(0), "cuInit");
    int count = 0;
    check(driver, driver.count(&count), "cuDeviceGetCount");
    std::vector<Device> devices;
    for (int i = 0; i < count; ++i) {
        devices.push_back(describe(driver, i));
    }
    if (devices.empty()) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "the CUDA driver reports no device");
    }
    open_blas();
    // The CUDA runtime, which ggml calls, may see other devices than the driver.
    const auto result = cudaGetDeviceCount(&count);
    if (result != cudaSuccess || static_cast<std::size_t>(count) != devices.size()) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            std::string("CUDA's runtime cannot use the driver: ") +
                (result != cudaSuccess ? cudaGetErrorString(result) : "the runtime reports other devices")
        );
    }
    return devices;
}

const Device* current_device(const std::vector<Device>& devices) {
    const auto& driver = cuda_driver();
    CUcontext context = nullptr;
    CUdevice device = 0;
    const bool there = driver.current(&context) == CUDA_SUCCESS && context != nullptr &&
                       driver.device_of_current(&device) == CUDA_SUCCESS;
    for (std::size_t i = 0; there && i < devices.size(); ++i) {
        CUdevice handle = 0;
        if (driver.device(&handle, static_cast<int>(i)) == CUDA_SUCCESS && handle == device) {
            return &devices[i];
        }
    }
    return nullptr;
}

} // namespace sotto::llama
