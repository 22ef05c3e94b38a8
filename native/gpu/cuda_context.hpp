// The CUDA context in which models compute, and the scope in which it is current.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpu/cuda_driver.hpp"

namespace sotto::gpu {

class CudaContext {
public:
    // Creates a context on `adapter`. If `cig` is not null, creates a CiG (CUDA in Graphics) context, which
    // shares the scheduling context of a renderer's queue; `cig` is read only during this call. If creating
    // or checking the context fails, throws Error(SOTTO_ERROR_UNSUPPORTED) and destroys the context.
    CudaContext(std::shared_ptr<const Driver> driver, Adapter adapter, cuda::CigParam* cig);
    // Uses a context that the host owns.
    CudaContext(std::shared_ptr<const Driver> driver, cuda::Context hosts);
    // Waits for running work. Destroys the context unless the host owns it.
    ~CudaContext();
    CudaContext(const CudaContext&) = delete;
    CudaContext& operator=(const CudaContext&) = delete;

    const Driver& driver() const noexcept { return *driver_; }
    const Adapter& adapter() const noexcept { return adapter_; }
    cuda::Context handle() const noexcept { return handle_; }
    bool is_cig() const noexcept { return cig_; }
    bool is_ours() const noexcept { return ours_; }
    // Priority for this context's streams: the lowest that the GPU has. A greater number is a lower priority.
    int priority() const noexcept { return priority_; }
    // Bytes of shared memory available to a kernel in a CiG context; 0: unknown.
    std::uint64_t shared_memory() const noexcept { return shared_memory_; }

private:
    void look();

    const std::shared_ptr<const Driver> driver_;
    Adapter adapter_;
    cuda::Context handle_ = nullptr;
    const bool ours_;
    bool cig_ = false;
    int priority_ = 0;
    std::uint64_t shared_memory_ = 0;
};

// Makes a context current on the calling thread for the lifetime of the scope. A null context changes
// nothing.
class CudaScope {
public:
    explicit CudaScope(const CudaContext* context);
    // Destroy the scope on the thread that created it. Restores the previous context, whichever context is
    // current now.
    ~CudaScope();
    CudaScope(const CudaScope&) = delete;
    CudaScope& operator=(const CudaScope&) = delete;

    // Throws Error(SOTTO_ERROR_INFERENCE) if the driver refused to make the context current.
    void check() const;

private:
    const CudaContext* context_;
    cuda::Context before_ = nullptr;
    cuda::Result result_ = cuda::kSuccess;
    const char* call_ = "cuCtxGetCurrent";
};

} // namespace sotto::gpu
