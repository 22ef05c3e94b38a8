// Types, constants and functions of the CUDA driver API that Sotto uses, declared by hand so that neither
// building nor running needs the CUDA toolkit.
#pragma once

#include <cstddef>

namespace sotto::gpu::cuda {

using Result = int;
using Device = int;
using Context = struct OpaqueContext*;
using Stream = struct OpaqueStream*;

constexpr Result kSuccess = 0;
constexpr Result kInvalidValue = 1;

// Device attributes.
constexpr int kCapabilityMajor = 75;
constexpr int kCapabilityMinor = 76;
constexpr int kCigD3d12 = 135;
constexpr int kCigVulkan = 138;

// Context limits (CUlimit).
constexpr int kSharedMemory = 7; // bytes of shared memory available to a kernel in a CiG context
constexpr int kCigEnabled = 8;

constexpr unsigned kBlockingSync = 4; // a thread that waits for the GPU sleeps instead of spinning
constexpr unsigned kNonBlocking = 1;  // the stream does not synchronize with the default stream

struct Uuid {
    unsigned char bytes[16];
};

// Creation parameters of a CiG context (CUDA in Graphics).
struct CigParam {
    int type;
    void* data;
};
constexpr int kD3d12CommandQueue = 1;
constexpr int kNvBlob = 2; // data of VK_NV_external_compute_queue

struct CreateParams {
    void* affinities;
    int affinity_count;
    CigParam* cig;
};

// Driver functions, named without the "cu" prefix. Required unless marked optional.
struct Api {
    Result (*init)(unsigned flags);
    Result (*driver_version)(int* version);
    Result (*error_name)(Result result, const char** name);
    Result (*error_string)(Result result, const char** text);
    Result (*device_count)(int* count);
    Result (*device_get)(Device* device, int index);
    Result (*device_name)(char* name, int room, Device device);
    Result (*device_uuid)(Uuid* uuid, Device device);
    Result (*device_luid)(char* luid, unsigned* node_mask, Device device); // null outside Windows
    Result (*device_memory)(std::size_t* bytes, Device device);
    Result (*device_attribute)(int* value, int attribute, Device device);
    Result (*create)(Context* context, unsigned flags, Device device);
    // Optional: null in drivers that do not support CiG.
    Result (*create_with)(Context* context, CreateParams* params, unsigned flags, Device device);
    Result (*destroy)(Context context);
    Result (*push)(Context context);
    Result (*pop)(Context* context);
    Result (*current)(Context* context);
    Result (*set_current)(Context context);
    Result (*device_of_current)(Device* device);
    Result (*limit)(std::size_t* value, int limit);
    Result (*synchronize)();
    Result (*priority_range)(int* least, int* greatest);
    Result (*stream_create)(Stream* stream, unsigned flags, int priority);
    Result (*stream_priority)(Stream stream, int* priority);
    Result (*stream_destroy)(Stream stream);
};

} // namespace sotto::gpu::cuda
