// What we use of the CUDA driver: its types, numbers and functions are facts of the driver, so that no
// toolkit is needed to build, and none to run.
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

// Limits of a context.
constexpr int kSharedMemory = 7; // bytes that a kernel may have of it, in a CiG context
constexpr int kCigEnabled = 8;

constexpr unsigned kBlockingSync = 4; // a thread that waits for the card sleeps; it does not spin
constexpr unsigned kNonBlocking = 1;  // a stream that doesn't wait for the default one

struct Uuid {
    unsigned char bytes[16];
};

// What a CiG context is made from.
struct CigParam {
    int type;
    void* data;
};
constexpr int kD3d12CommandQueue = 1;
constexpr int kNvBlob = 2; // of VK_NV_external_compute_queue

struct CreateParams {
    void* affinities;
    int affinity_count;
    CigParam* cig;
};

// The functions, by their names without the prefix; those that may be missing are said to.
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
    // Null in drivers that know nothing of CiG.
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
