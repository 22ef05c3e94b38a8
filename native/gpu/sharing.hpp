// The ladder: how closely a card can be shared with what a host handed over, and why not closer.
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

// What a host handed over, and what it asks for at least.
struct Renderer {
    std::variant<sotto_gpu_d3d12, sotto_gpu_vulkan, sotto_gpu_cuda> with;
    sotto_gpu_sharing least = SOTTO_GPU_SHARING_NONE;
};

struct Terms {
    std::filesystem::path driver; // the CUDA driver's file; empty: the system's
    std::string no_cuda;          // why no backend here computes with CUDA; empty: one does
    std::string no_vulkan;        // likewise
};

class Sharing {
public:
    struct NotTaken {
        sotto_gpu_sharing rung;
        std::string why;
    };

    // Throws Error(SOTTO_ERROR_ARGUMENT) where what was handed over isn't what it says, and
    // Error(SOTTO_ERROR_UNSUPPORTED) where it can't be shared as closely as is asked for. May take a while:
    // the driver makes a context. Nothing of the calling thread is changed.
    Sharing(const Renderer& renderer, const Terms& terms);

    sotto_gpu_sharing rung() const noexcept { return rung_; }
    // "d3d12", "vulkan" or "cuda".
    const char* with() const noexcept { return with_; }
    // What models compute in; null below SOTTO_GPU_SHARING_CUDA.
    const std::shared_ptr<const CudaContext>& context() const noexcept { return context_; }
    // The UUID of the renderer's card, on SOTTO_GPU_SHARING_VULKAN.
    const std::string& uuid() const noexcept { return uuid_; }
    // The renderer's card, as far as the CUDA driver knows it.
    const std::optional<Adapter>& adapter() const noexcept { return adapter_; }
    // The CUDA that the driver speaks; empty: there is no driver.
    const std::string& driver() const noexcept { return driver_; }
    // Every rung above the one taken, the closest first.
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

// "cig", "cuda", "vulkan", "cpu" or "none".
const char* name_of(sotto_gpu_sharing rung) noexcept;

} // namespace sotto::gpu
