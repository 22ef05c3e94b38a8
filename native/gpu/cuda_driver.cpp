#include "gpu/cuda_driver.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/error.hpp"
#include "gpu/luid.hpp"
#include "platform/dynlib.hpp"

namespace sotto::gpu {
namespace {

#if defined(_WIN32)
constexpr const char* kLibrary = "nvcuda.dll";
#else
constexpr const char* kLibrary = "libcuda.so.1";
#endif

constexpr unsigned kMinDriver = 570;         // release branch
constexpr std::uint32_t kMinCapability = 89; // Ada Lovelace
constexpr CigNeeds kD3d12 = {
    "Direct3D 12",
    cuda::kCigD3d12,
    12080,
    true,
    ", and hardware-accelerated GPU scheduling switched on in Windows"
};
constexpr CigNeeds kVulkan = {"Vulkan", cuda::kCigVulkan, 12090, false, ""};

std::string cuda_text(int version) {
    return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string capability_text(std::uint32_t capability) {
    return std::to_string(capability / 10) + "." + std::to_string(capability % 10);
}

template <typename Function>
bool find(void* library, const char* name, Function& function) noexcept {
    function = reinterpret_cast<Function>(find_symbol(library, name));
    return function != nullptr;
}

// Loads the required functions; returns the names of the missing ones.
std::string find_all(void* library, cuda::Api& api) {
    std::string missing;
    const auto require = [&](const char* name, auto& function) {
        if (!find(library, name, function)) {
            missing += missing.empty() ? name : std::string(", ") + name;
        }
    };
    require("cuInit", api.init);
    require("cuDriverGetVersion", api.driver_version);
    require("cuGetErrorName", api.error_name);
    require("cuGetErrorString", api.error_string);
    require("cuDeviceGetCount", api.device_count);
    require("cuDeviceGet", api.device_get);
    require("cuDeviceGetName", api.device_name);
    if (!find(library, "cuDeviceGetUuid_v2", api.device_uuid)) {
        require("cuDeviceGetUuid", api.device_uuid);
    }
    require("cuDeviceTotalMem_v2", api.device_memory);
    require("cuDeviceGetAttribute", api.device_attribute);
    require("cuCtxCreate_v2", api.create);
    require("cuCtxDestroy_v2", api.destroy);
    require("cuCtxPushCurrent_v2", api.push);
    require("cuCtxPopCurrent_v2", api.pop);
    require("cuCtxGetCurrent", api.current);
    require("cuCtxSetCurrent", api.set_current);
    require("cuCtxGetDevice", api.device_of_current);
    require("cuCtxGetLimit", api.limit);
    require("cuCtxSynchronize", api.synchronize);
    require("cuCtxGetStreamPriorityRange", api.priority_range);
    require("cuStreamCreateWithPriority", api.stream_create);
    require("cuStreamGetPriority", api.stream_priority);
    require("cuStreamDestroy_v2", api.stream_destroy);
    find(library, "cuDeviceGetLuid", api.device_luid);
    find(library, "cuCtxCreate_v4", api.create_with);
    return missing;
}

// Returns the adapter for which `is` returns true. If no adapter matches, throws an error that names `wanted`
// and lists the adapters.
template <typename Is, typename Tell>
Adapter pick(const Driver& driver, Is is, const std::string& wanted, Tell tell) {
    const auto all = driver.adapters();
    if (const auto found = std::find_if(all.begin(), all.end(), is); found != all.end()) {
        return *found;
    }
    std::string there;
    for (const auto& one : all) {
        there += (there.empty() ? "" : ", ") + one.name + " (" + tell(one) + ")";
    }
    throw Error(
        SOTTO_ERROR_UNSUPPORTED,
        "no CUDA device has " + wanted + "; the driver reports " + (there.empty() ? "no device" : there)
    );
}

} // namespace

std::string uuid_text(const unsigned char bytes[16]) {
    constexpr const char* kDigits = "0123456789abcdef";
    std::string text;
    for (int i = 0; i < 16; ++i) {
        if (i == 4 || i == 6 || i == 8 || i == 10) {
            text += '-';
        }
        text += kDigits[bytes[i] >> 4];
        text += kDigits[bytes[i] & 15];
    }
    return text;
}

std::shared_ptr<const Driver> Driver::open(const std::filesystem::path& path) {
    return std::shared_ptr<const Driver>(new Driver(path));
}

Driver::Driver(const std::filesystem::path& path) {
    const std::filesystem::path file = path.empty() ? std::filesystem::path(kLibrary) : path;
    std::string reason;
    void* library = open_library(file, reason);
    if (library == nullptr) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "the CUDA driver cannot be opened: " + reason);
    }
    if (const auto missing = find_all(library, api_); !missing.empty()) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "the CUDA driver in " + file.string() + " lacks " + missing + "; reinstall the driver"
        );
    }
    check(api_.init(0), "cuInit");
    check(api_.driver_version(&cuda_), "cuDriverGetVersion");
    version_ = cuda_text(cuda_);
    installed_ = driver_version();
}

std::string Driver::told(cuda::Result result, const char* call) const {
    const char* name = nullptr;
    const char* text = nullptr;
    if (api_.error_name(result, &name) != cuda::kSuccess || name == nullptr) {
        return std::string(call) + ": error " + std::to_string(result);
    }
    const bool worded = api_.error_string(result, &text) == cuda::kSuccess && text != nullptr;
    return std::string(call) + ": " + name + (worded ? std::string(" (") + text + ")" : "");
}

void Driver::check(cuda::Result result, const char* call) const {
    if (result != cuda::kSuccess) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, told(result, call));
    }
}

int Driver::count() const {
    int count = 0;
    check(api_.device_count(&count), "cuDeviceGetCount");
    return count;
}

// Returns the reason why the driver itself refuses CiG on a GPU; empty: it does not.
std::string Driver::attribute_why(cuda::Device device, int attribute) const {
    if (api_.create_with == nullptr) {
        return "the driver speaks CUDA " + version_ + " and has no cuCtxCreate_v4";
    }
    int can = 0;
    const auto result = api_.device_attribute(&can, attribute, device);
    if (result == cuda::kInvalidValue) {
        return "the driver does not know attribute " + std::to_string(attribute);
    }
    if (result != cuda::kSuccess) {
        return told(result, "cuDeviceGetAttribute");
    }
    return can != 0
               ? ""
               : "the driver does not support CiG here (attribute " + std::to_string(attribute) + " is 0)";
}

// Returns every requirement of CiG that is not met, and what CiG requires; empty: all are met.
std::string Driver::cig_why(const Adapter& adapter, const CigNeeds& needs) const {
    std::string why;
    const auto unless = [&](bool met, const std::string& reason) {
        why += met ? "" : (why.empty() ? "" : "; ") + reason;
    };
    const auto refused = attribute_why(adapter.device, needs.attribute);
    unless(refused.empty(), refused);
    unless(
        !needs.luid || adapter.luid != 0,
        std::string("the GPU has no LUID: ") + needs.api + " exists on Windows only"
    );
    const auto installed =
        installed_.text.empty() ? "of unknown version (" + installed_.why + ")" : installed_.text;
    unless(installed_.major >= kMinDriver, "the NVIDIA driver is " + installed);
    unless(cuda_ >= needs.cuda, "the driver supports CUDA " + version_);
    unless(
        adapter.capability >= kMinCapability,
        "the GPU has compute capability " + capability_text(adapter.capability)
    );
    if (why.empty()) {
        return why;
    }
    return why + "; CiG with " + needs.api + " requires driver " + std::to_string(kMinDriver) +
           " or newer, CUDA " + cuda_text(needs.cuda) + " or newer, compute capability " +
           capability_text(kMinCapability) + " (Ada, RTX 40) or newer" + needs.also;
}

Adapter Driver::adapter(int index) const {
    Adapter one;
    check(api_.device_get(&one.device, index), "cuDeviceGet");
    std::array<char, 256> name{};
    check(api_.device_name(name.data(), static_cast<int>(name.size()) - 1, one.device), "cuDeviceGetName");
    one.name = name.data();
    cuda::Uuid uuid{};
    check(api_.device_uuid(&uuid, one.device), "cuDeviceGetUuid");
    one.uuid = uuid_text(uuid.bytes);
    unsigned node_mask = 0;
    if (api_.device_luid != nullptr) { // null outside Windows; fails for a GPU without a LUID
        std::uint64_t luid = 0;
        char bytes[sizeof luid] = {};
        if (api_.device_luid(bytes, &node_mask, one.device) == cuda::kSuccess) {
            std::memcpy(&luid, bytes, sizeof luid);
            one.luid = luid;
        }
    }
    std::size_t bytes = 0;
    check(api_.device_memory(&bytes, one.device), "cuDeviceTotalMem");
    one.vram = bytes;
    int major = 0;
    int minor = 0;
    check(api_.device_attribute(&major, cuda::kCapabilityMajor, one.device), "cuDeviceGetAttribute");
    check(api_.device_attribute(&minor, cuda::kCapabilityMinor, one.device), "cuDeviceGetAttribute");
    one.capability = static_cast<std::uint32_t>(major * 10 + minor);
    one.cig_d3d12_why = cig_why(one, kD3d12);
    one.cig_vulkan_why = cig_why(one, kVulkan);
    return one;
}

std::vector<Adapter> Driver::adapters() const {
    std::vector<Adapter> all;
    const int cards = count();
    for (int i = 0; i < cards; ++i) {
        all.push_back(adapter(i));
    }
    return all;
}

Adapter with_luid(const Driver& driver, std::uint64_t luid) {
    const auto tell = [](const Adapter& one) {
        return one.luid != 0 ? "LUID " + luid_text(one.luid) : std::string("no LUID");
    };
    const auto is = [&](const Adapter& one) { return one.luid == luid; };
    return pick(driver, is, "the LUID " + luid_text(luid), tell);
}

Adapter with_uuid(const Driver& driver, const std::string& uuid) {
    const auto is = [&](const Adapter& one) { return one.uuid == uuid; };
    return pick(driver, is, "the UUID " + uuid, [](const Adapter& one) { return "UUID " + one.uuid; });
}

} // namespace sotto::gpu
