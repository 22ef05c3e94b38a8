// A CUDA context that models compute in, and the stretch of code in which it is current.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gpu/cuda_driver.hpp"

namespace sotto::gpu {

class CudaContext {
public:
    // A context of our own on that card. With `cig`, in the scheduling context of a renderer's queue; what
    // that points at is looked at here alone. Throws Error(SOTTO_ERROR_UNSUPPORTED), and leaves nothing.
    CudaContext(std::shared_ptr<const Driver> driver, Adapter adapter, cuda::CigParam* cig);
    // A context of the host's.
    CudaContext(std::shared_ptr<const Driver> driver, cuda::Context hosts);
    // Waits for the work under way. A context of our own goes.
    ~CudaContext();
    CudaContext(const CudaContext&) = delete;
    CudaContext& operator=(const CudaContext&) = delete;

    const Driver& driver() const noexcept { return *driver_; }
    const Adapter& adapter() const noexcept { return adapter_; }
    cuda::Context handle() const noexcept { return handle_; }
    bool is_cig() const noexcept { return cig_; }
    bool is_ours() const noexcept { return ours_; }
    // Of streams in it: the lowest that the card has. Greater is lower.
    int priority() const noexcept { return priority_; }
    // Bytes that a kernel may have of it, in a CiG context; 0: nobody said.
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

// While it lives, a context is the calling thread's current one. Null: nothing happens.
class CudaScope {
public:
    explicit CudaScope(const CudaContext* context);
    // On the same thread. What was current before is so again, whatever was left in between.
    ~CudaScope();
    CudaScope(const CudaScope&) = delete;
    CudaScope& operator=(const CudaScope&) = delete;

    // Throws Error(SOTTO_ERROR_INFERENCE) where the driver would not make it current. It never is, then.
    void check() const;

private:
    const CudaContext* context_;
    cuda::Context before_ = nullptr;
    cuda::Result result_ = cuda::kSuccess;
    const char* call_ = "cuCtxGetCurrent";
};

} // namespace sotto::gpu
