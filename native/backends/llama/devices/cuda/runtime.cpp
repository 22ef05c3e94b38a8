// Wrappers around CUDA runtime functions that ggml calls. Linked with --wrap, for the whole module.
#include "devices/cuda/runtime.hpp"

#include "devices/cuda/libraries.hpp"
#include "devices/device.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <map>
#include <mutex>
#include <utility>

namespace sotto::llama {
namespace {

using Id = unsigned long long; // id of a context, never reused

// Returns the id of the calling thread's current context; 0: none.
Id current_context() {
    const auto& driver = cuda_driver();
    CUcontext context = nullptr;
    Id id = 0;
    if (driver.current(&context) == CUDA_SUCCESS && context != nullptr) {
        driver.id(context, &id);
    }
    return id;
}

// Kernels whose shared memory limit was raised. ggml raises a kernel's limit once per process, but the limit
// applies to one context.
class Raised {
public:
    // Returns the limit to set in the current context before a launch with `memory` bytes; 0: the current
    // limit suffices.
    int missing(const void* kernel, std::size_t memory) {
        constexpr std::size_t kAlways = 32 << 10; // CUDA's default limit, less the static memory of kernels
        if (memory <= kAlways) {
            return 0;
        }
        const std::lock_guard lock(mutex_);
        auto& known = known_[{current_context(), kernel}];
        return std::exchange(known, std::max(known, memory)) < memory ? static_cast<int>(memory) : 0;
    }

private:
    std::mutex mutex_; // guards the members below
    std::map<std::pair<Id, const void*>, std::size_t> known_;
};

Raised& raised() {
    static auto& all = *new Raised;
    return all;
}

// `captures`: this thread captures a CUDA graph. `left_a_capture`: an error has left a capture open. ggml
// counts captures, and waits until none is open before it frees a context.
thread_local bool captures = false;
std::atomic<bool> left_a_capture{false};

bool context_is_lost() noexcept {
    if (captures) { // counts as lost: all later work on the stream would be captured
        captures = false;
        left_a_capture = true;
        return true;
    }
    const auto result = cuda_driver().synchronize();
    const bool somebody_captures =
        result >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED && result <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
    const bool none_is_current = result == CUDA_ERROR_INVALID_CONTEXT;
    return result != CUDA_SUCCESS && !somebody_captures && !none_is_current;
}

bool keeps_contexts() noexcept {
    return left_a_capture.load();
}

} // namespace

// Returns a separate loss state for each model: a loss affects one context, and a new context may work.
Loss loss_of(const Device&) {
    auto fate = std::make_shared<Fate>();
    fate->ask = context_is_lost;
    fate->keeps = keeps_contexts;
    return Loss(std::move(fate));
}

void keep_current(void (*body)()) {
    const auto& driver = cuda_driver();
    CUcontext before = nullptr;
    const bool known = driver.current(&before) == CUDA_SUCCESS;
    body();
    if (known) {
        driver.set_current(before);
    }
}
} // namespace sotto::llama

std::size_t sotto_block_memory() {
    using namespace sotto::llama;
    thread_local Id asked = 0;
    thread_local std::size_t bytes = 0;
    const auto id = current_context();
    if (id == asked) {
        return bytes;
    }
    const auto& driver = cuda_driver();
    asked = id;
    bytes = 0;
    std::size_t value = 0;
    CUdevice device = 0;
    int reserved = 0;
    if (id != 0 && driver.limit(&value, CU_LIMIT_CIG_ENABLED) == CUDA_SUCCESS && value != 0 &&
        driver.limit(&value, CU_LIMIT_SHMEM_SIZE) == CUDA_SUCCESS &&
        driver.device_of_current(&device) == CUDA_SUCCESS &&
        driver.attribute(&reserved, CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, device) ==
            CUDA_SUCCESS &&
        value > static_cast<std::size_t>(reserved)) {
        bytes = value - static_cast<std::size_t>(reserved);
    }
    return bytes;
}

// Names that the linker's --wrap requires.
// NOLINTBEGIN
extern "C" {

using namespace sotto::llama;

cudaError_t __real_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t __real___cudaLaunchKernel(
    cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t memory, cudaStream_t stream
);
cudaError_t
__real_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments);
cudaError_t __real_cudaLaunchCooperativeKernel(
    const void* kernel, dim3 grid, dim3 block, void** arguments, size_t memory, cudaStream_t stream
);
char* __real_getenv(const char* name);
cudaError_t __real_cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode);
cudaError_t __real_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph);
cudaError_t __real_cudaEventDestroy(cudaEvent_t event);
cudaError_t __real_cudaFree(void* bytes);
cudaError_t __real_cudaFreeHost(void* bytes);
cudaError_t __real_cudaGraphDestroy(cudaGraph_t graph);
cudaError_t __real_cudaGraphExecDestroy(cudaGraphExec_t graph);
cudaError_t __real_cudaStreamDestroy(cudaStream_t stream);

// Uses the lowest stream priority, so that the game's rendering and compute work goes first.
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
    int least = 0;
    int greatest = 0;
    const auto result = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    return result == cudaSuccess ? cudaStreamCreateWithPriority(stream, flags, least) : result;
}

static cudaError_t raise(const void* kernel, size_t memory) {
    const int bytes = raised().missing(kernel, memory);
    return bytes == 0 ? cudaSuccess
                      : cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

cudaError_t __wrap___cudaLaunchKernel(
    cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t memory, cudaStream_t stream
) {
    const auto result = raise(kernel, memory);
    return result == cudaSuccess ? __real___cudaLaunchKernel(kernel, grid, block, arguments, memory, stream)
                                 : result;
}

cudaError_t
__wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
    const auto result = raise(kernel, config->dynamicSmemBytes);
    return result == cudaSuccess ? __real_cudaLaunchKernelExC(config, kernel, arguments) : result;
}

cudaError_t __wrap_cudaLaunchCooperativeKernel(
    const void* kernel, dim3 grid, dim3 block, void** arguments, size_t memory, cudaStream_t stream
) {
    const auto result = raise(kernel, memory);
    return result == cudaSuccess
               ? __real_cudaLaunchCooperativeKernel(kernel, grid, block, arguments, memory, stream)
               : result;
}

cudaError_t __wrap_cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
    captures = true;
    return __real_cudaStreamBeginCapture(stream, mode);
}

cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
    const auto result = __real_cudaStreamEndCapture(stream, graph);
    captures = result != cudaSuccess;
    return result;
}

// Returns cudaSuccess also if freeing failed. Freeing fails if the GPU was lost; nothing is then left to
// free, but ggml would terminate the process.
static cudaError_t given_back(cudaError_t result) {
    if (result != cudaSuccess) {
        cudaGetLastError(); // clears the error, which a later call would report
    }
    return cudaSuccess;
}

cudaError_t __wrap_cudaEventDestroy(cudaEvent_t event) {
    return given_back(__real_cudaEventDestroy(event));
}
cudaError_t __wrap_cudaFree(void* bytes) {
    return given_back(__real_cudaFree(bytes));
}
cudaError_t __wrap_cudaFreeHost(void* bytes) {
    return given_back(__real_cudaFreeHost(bytes));
}
cudaError_t __wrap_cudaGraphDestroy(cudaGraph_t graph) {
    return given_back(__real_cudaGraphDestroy(graph));
}
cudaError_t __wrap_cudaGraphExecDestroy(cudaGraphExec_t graph) {
    return given_back(__real_cudaGraphExecDestroy(graph));
}
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t stream) {
    return given_back(__real_cudaStreamDestroy(stream));
}

// Hides environment variables by which ggml would let the host's environment choose devices and memory.
char* __wrap_getenv(const char* name) {
    for (const char* hidden : {"GGML_CUDA_DEVICES", "GGML_CUDA_ENABLE_UNIFIED_MEMORY", "GGML_CUDA_P2P"}) {
        if (std::strcmp(name, hidden) == 0) {
            return nullptr;
        }
    }
    return __real_getenv(name);
}
}
// NOLINTEND
