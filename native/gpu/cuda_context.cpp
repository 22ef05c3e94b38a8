#include "gpu/cuda_context.hpp"

#include <utility>

#include "base/error.hpp"

namespace sotto::gpu {
namespace {

// Removes `made` from the calling thread's context stack, whatever is on top of it, and makes `before`
// current again, even if a driver call fails.
void put_away(const cuda::Api& api, cuda::Context made, cuda::Context before) noexcept {
    cuda::Context top = nullptr;
    if (api.pop(&top) != cuda::kSuccess) {
        api.set_current(nullptr); // also pops the top of the stack
    }
    if (api.current(&top) == cuda::kSuccess && top == made && made != before) {
        api.pop(&top);
    }
    if (api.current(&top) != cuda::kSuccess || top != before) {
        api.set_current(before);
    }
}

// Releases a driver object, and retries once on failure to avoid a leak.
template <typename Function, typename Thing>
cuda::Result give_back(Function function, Thing thing) noexcept {
    const auto result = function(thing);
    return result == cuda::kSuccess ? result : function(thing);
}

// A new context, which the driver has made current. The destructor makes `before` current again, and destroys
// the new context unless `keep` is set.
struct Fresh {
    const cuda::Api& api;
    const cuda::Context made;
    const cuda::Context before;
    bool keep = false;

    ~Fresh() {
        put_away(api, made, before);
        if (!keep) {
            give_back(api.destroy, made);
        }
    }
};

} // namespace

CudaContext::CudaContext(std::shared_ptr<const Driver> driver, Adapter adapter, cuda::CigParam* cig)
    : driver_(std::move(driver)), adapter_(std::move(adapter)), ours_(true) {
    const auto& api = driver_->api();
    cuda::Context before = nullptr;
    driver_->check(api.current(&before), "cuCtxGetCurrent");
    if (cig != nullptr) {
        cuda::CreateParams params = {nullptr, 0, cig};
        driver_->check(
            api.create_with(&handle_, &params, cuda::kBlockingSync, adapter_.device), "cuCtxCreate_v4"
        );
    } else {
        driver_->check(api.create(&handle_, cuda::kBlockingSync, adapter_.device), "cuCtxCreate_v2");
    }
    Fresh fresh{api, handle_, before};
    look();
    if (cig != nullptr && !cig_) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "the driver created a regular context instead of a CiG context");
    }
    fresh.keep = true;
}

CudaContext::CudaContext(std::shared_ptr<const Driver> driver, cuda::Context hosts)
    : driver_(std::move(driver)), handle_(hosts), ours_(false) {
    const CudaScope scope(this);
    scope.check();
    cuda::Device device = 0;
    driver_->check(driver_->api().device_of_current(&device), "cuCtxGetDevice");
    for (auto& one : driver_->adapters()) {
        if (one.device == device) {
            adapter_ = std::move(one);
        }
    }
    look();
}

// Reads the properties that the driver reports only for the current context, and checks that the context
// accepts work.
void CudaContext::look() {
    const auto& api = driver_->api();
    std::size_t value = 0;
    // older drivers do not know this limit
    cig_ = api.limit(&value, cuda::kCigEnabled) == cuda::kSuccess && value != 0;
    if (cig_ && api.limit(&value, cuda::kSharedMemory) == cuda::kSuccess) {
        shared_memory_ = value;
    }
    int greatest = 0;
    driver_->check(api.priority_range(&priority_, &greatest), "cuCtxGetStreamPriorityRange");
    // Creates a stream to verify that the context accepts work and that streams get the wanted priority.
    cuda::Stream stream = nullptr;
    driver_->check(api.stream_create(&stream, cuda::kNonBlocking, priority_), "cuStreamCreateWithPriority");
    int got = priority_;
    const auto requested = api.stream_priority(stream, &got);
    driver_->check(give_back(api.stream_destroy, stream), "cuStreamDestroy_v2");
    driver_->check(requested, "cuStreamGetPriority");
    if (got != priority_) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "the driver created a stream of priority " + std::to_string(got) + " instead of " +
                std::to_string(priority_)
        );
    }
}

CudaContext::~CudaContext() {
    const auto& api = driver_->api();
    {
        const CudaScope scope(this);
        api.synchronize(); // fails if the device is lost; then no work is left to wait for
    }
    if (ours_) {
        give_back(api.destroy, handle_);
    }
}

CudaScope::CudaScope(const CudaContext* context) : context_(context) {
    if (context_ == nullptr) {
        return;
    }
    const auto& api = context_->driver().api();
    result_ = api.current(&before_);
    if (result_ == cuda::kSuccess) {
        result_ = api.push(context_->handle());
        call_ = "cuCtxPushCurrent_v2";
    }
}

CudaScope::~CudaScope() {
    if (context_ != nullptr && result_ == cuda::kSuccess) {
        put_away(context_->driver().api(), context_->handle(), before_);
    }
}

void CudaScope::check() const {
    if (result_ != cuda::kSuccess) {
        throw Error(SOTTO_ERROR_INFERENCE, context_->driver().told(result_, call_));
    }
}

} // namespace sotto::gpu
