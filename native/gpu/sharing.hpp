// The sharing ladder: how closely a GPU can be shared with the host's renderer, and why not more closely.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <sotto/gpu.h>

#include "gpu/cuda_context.hpp"

namespace sotto::gpu {

// The renderer that a host passes, and the least sharing that the host accepts.
struct Renderer {
    std::variant<sotto_gpu_d3d12, sotto_gpu_vulkan, sotto_gpu_cuda> with;
    sotto_gpu_sharing least = SOTTO_GPU_SHARING_NONE;
};

struct Terms {
    std::filesystem::path driver; // file of the CUDA driver; empty: the system's
    std::string no_cuda;          // reason why no backend supports CUDA; empty: one does
    std::string no_vulkan;        // reason why no backend supports Vulkan; empty: one does
};

class Sharing {
public:
    struct NotTaken {
        sotto_gpu_sharing rung;
        std::string why;
    };

    // Throws Error(SOTTO_ERROR_ARGUMENT) if the renderer's objects are inconsistent, and
    // Error(SOTTO_ERROR_UNSUPPORTED) if the least sharing that the host accepts is impossible. May take long:
    // the driver creates a context. Leaves the calling thread's current context unchanged.
    Sharing(const Renderer& renderer, const Terms& terms);

    sotto_gpu_sharing rung() const noexcept { return rung_; }
    // Returns the renderer's API: "d3d12", "vulkan" or "cuda".
    const char* with() const noexcept { return with_; }
    // The context in which models compute; null below SOTTO_GPU_SHARING_CUDA.
    const std::shared_ptr<const CudaContext>& context() const noexcept { return context_; }
    // UUID of the renderer's GPU; empty unless the rung taken is SOTTO_GPU_SHARING_VULKAN.
    const std::string& uuid() const noexcept { return uuid_; }
    // The renderer's GPU; empty if the CUDA driver was not asked or does not know the GPU.
    const std::optional<Adapter>& adapter() const noexcept { return adapter_; }
    // CUDA version of the driver; empty: no driver.
    const std::string& driver() const noexcept { return driver_; }
    // Every rung above the one taken, the closest sharing first.
    const std::vector<NotTaken>& not_taken() const noexcept { return not_taken_; }

private:
    class Ladder;

    sotto_gpu_sharing rung_ = SOTTO_GPU_SHARING_CPU;
    const char* with_;
    std::shared_ptr<const CudaContext> context_;
    std::string uuid_;
    std::optional<Adapter> adapter_;
    std::string driver_;
    std::vector<NotTaken> not_taken_;
};

// Returns the name of a rung: "cig", "cuda", "vulkan", "cpu" or "none".
const char* name_of(sotto_gpu_sharing rung) noexcept;

} // namespace sotto::gpu
