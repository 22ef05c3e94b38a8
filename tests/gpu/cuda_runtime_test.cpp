// What the CUDA module does under ggml's calls of CUDA's runtime: on a fake runtime, which writes down what
// it is called with, and the double of the driver.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "devices/cuda/runtime.hpp"
#include "devices/device.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <string>
#include <vector>

namespace {

struct Raised {
    const void* kernel;
    int bytes;
    bool operator==(const Raised&) const = default;
};

std::vector<Raised> raised;
std::vector<int> priorities;
int launches = 0;
int failing = 0; // what raising comes to
int unheard = 0; // errors that nobody asked for yet

cudaError_t lost() {
    ++unheard;
    return cudaErrorLaunchFailure;
}

const int kKernels[3] = {};
const void* const kKernel = &kKernels[0];                                            // as ggml names it
const auto kHandle = reinterpret_cast<cudaKernel_t>(const_cast<int*>(&kKernels[1])); // as it is launched

class Driver {
public:
    Driver() : library_(dlopen("libcuda.so.1", RTLD_NOW)) {
        REQUIRE(library_ != nullptr);
        call<void(const char*, long)>("sotto_double_set")("reset", 1);
        call<int(unsigned)>("cuInit")(0);
        raised.clear();
        launches = failing = 0;
    }
    template <typename Function>
    Function* call(const char* name) const {
        return reinterpret_cast<Function*>(dlsym(library_, name));
    }

private:
    void* library_;
};

// A context that is current while this lives.
class Current {
public:
    Current(const Driver& driver, bool cig) : driver_(driver) {
        context_ = driver.call<void*(int, int)>("sotto_double_context")(1, cig);
        enter();
    }
    ~Current() {
        leave();
        driver_.call<void(void*)>("sotto_double_context_gone")(context_);
    }
    void enter() const { driver_.call<int(void*)>("cuCtxPushCurrent_v2")(context_); }
    void leave() const {
        void* popped = nullptr;
        driver_.call<int(void**)>("cuCtxPopCurrent_v2")(&popped);
    }

private:
    const Driver& driver_;
    void* context_;
};

} // namespace

extern "C" { // NOLINTBEGIN: the linker's names, and the runtime's
cudaError_t __wrap_cudaStreamCreateWithFlags(cudaStream_t*, unsigned);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
cudaError_t __wrap_cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode);
cudaError_t __wrap_cudaStreamEndCapture(cudaStream_t, cudaGraph_t*);
char* __wrap_getenv(const char*);
cudaError_t __wrap_cudaEventDestroy(cudaEvent_t);
cudaError_t __wrap_cudaFree(void*);
cudaError_t __wrap_cudaFreeHost(void*);
cudaError_t __wrap_cudaGraphDestroy(cudaGraph_t);
cudaError_t __wrap_cudaGraphExecDestroy(cudaGraphExec_t);
cudaError_t __wrap_cudaStreamDestroy(cudaStream_t);

// As on a card that is lost.
cudaError_t __real_cudaEventDestroy(cudaEvent_t) {
    return lost();
}
cudaError_t __real_cudaFree(void*) {
    return lost();
}
cudaError_t __real_cudaFreeHost(void*) {
    return lost();
}
cudaError_t __real_cudaGraphDestroy(cudaGraph_t) {
    return lost();
}
cudaError_t __real_cudaGraphExecDestroy(cudaGraphExec_t) {
    return lost();
}
cudaError_t __real_cudaStreamDestroy(cudaStream_t) {
    return lost();
}
cudaError_t cudaGetLastError() {
    --unheard;
    return cudaErrorLaunchFailure;
}
cudaError_t __real_cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
    return cudaSuccess;
}
cudaError_t __real_cudaStreamEndCapture(cudaStream_t, cudaGraph_t*) {
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int bytes) {
    raised.push_back({kernel, bytes});
    return static_cast<cudaError_t>(failing);
}
cudaError_t __real___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t) {
    ++launches;
    return cudaSuccess;
}
cudaError_t __real_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**) {
    ++launches;
    return cudaSuccess;
}
cudaError_t __real_cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t) {
    ++launches;
    return cudaSuccess;
}
char* __real_getenv(const char* name) {
    static std::string told;
    told = name;
    return told.data();
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    *least = 0;
    *greatest = -5;
    return cudaSuccess;
}
cudaError_t cudaStreamCreateWithPriority(cudaStream_t*, unsigned flags, int priority) {
    CHECK(flags == cudaStreamNonBlocking);
    priorities.push_back(priority);
    return cudaSuccess;
}
} // NOLINTEND

TEST_CASE("streams are of the lowest priority") {
    cudaStream_t stream = nullptr;
    CHECK(__wrap_cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess);
    CHECK(priorities == std::vector<int>{0});
}

TEST_CASE("a block has as much memory as its context allows, and all of it elsewhere") {
    const Driver driver;
    CHECK(sotto_block_memory() == 0);
    const Current plain(driver, false);
    CHECK(sotto_block_memory() == 0);
    {
        const Current cig(driver, true);
        CHECK(sotto_block_memory() == 49152 - 1024);
        CHECK(sotto_block_memory() == 49152 - 1024);
    }
    CHECK(sotto_block_memory() == 0);
}

TEST_CASE("a kernel's limit is raised in each context to what is launched there") {
    const Driver driver;
    constexpr int kMuch = 60'000;
    constexpr int kCig = 49152 - 1024;
    const auto launch = [](std::size_t memory) {
        return __wrap___cudaLaunchKernel(kHandle, {}, {}, nullptr, memory, nullptr);
    };
    {
        const Current cig(driver, true); // what is first doesn't bind the next
        CHECK(launch(0) == cudaSuccess);
        CHECK(launch(4096) == cudaSuccess);
        CHECK(raised.empty()); // which each kernel has
        CHECK(launch(kCig) == cudaSuccess);
        CHECK(raised == std::vector<Raised>{{kHandle, kCig}});
    }
    {
        const Current plain(driver, false);
        CHECK(launch(kMuch) == cudaSuccess);
        CHECK(launch(kMuch) == cudaSuccess);
        CHECK(launch(kCig) == cudaSuccess);
        CHECK(raised.size() == 2);
        CHECK(raised.back() == Raised{kHandle, kMuch});
        CHECK(launch(kMuch + 1) == cudaSuccess);
        CHECK(raised.back() == Raised{kHandle, kMuch + 1});
        cudaLaunchConfig_t config{};
        config.dynamicSmemBytes = kMuch;
        CHECK(__wrap_cudaLaunchKernelExC(&config, kKernel, nullptr) == cudaSuccess);
        CHECK(__wrap_cudaLaunchCooperativeKernel(kKernel, {}, {}, nullptr, kMuch, nullptr) == cudaSuccess);
        CHECK(raised.size() == 4); // by its other name
    }
    const Current third(driver, false);
    failing = cudaErrorInvalidValue;
    const auto before = launches;
    CHECK(launch(kMuch) == cudaErrorInvalidValue);
    CHECK(launches == before);
}

TEST_CASE("a context is lost when it can't be waited for, and only models there are") {
    using namespace sotto::llama;
    const Driver driver;
    const auto fail = [&](int result) {
        driver.call<void(const char*, long, int)>("sotto_double_fail")("cuCtxSynchronize", 1, result);
    };
    const Current current(driver, false);
    const Device device;
    const auto loss = loss_of(device);
    const auto other = loss_of(device);
    CHECK_FALSE(loss.asked());
    for (const int passing : {CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_ERROR_INVALID_CONTEXT}) {
        fail(passing); // what somebody else does there, or there is none
        CHECK_FALSE(loss.asked());
    }
    fail(CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(loss.asked());
    CHECK(loss.keeps_contexts());
    CHECK_FALSE(other.seen());
    CHECK_FALSE(other.keeps_contexts());
    CHECK_FALSE(loss_of(device).seen());
}

TEST_CASE(
    "an error in the middle of a graph leaves contexts for good, for ggml would wait before it frees them"
) {
    using namespace sotto::llama;
    const Driver driver;
    const Current current(driver, false);
    const Device device;
    const auto loss = loss_of(device);
    CHECK(__wrap_cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed) == cudaSuccess);
    CHECK(__wrap_cudaStreamEndCapture(nullptr, nullptr) == cudaSuccess);
    CHECK_FALSE(loss.asked());
    CHECK_FALSE(loss.keeps_contexts());
    CHECK(__wrap_cudaStreamBeginCapture(nullptr, cudaStreamCaptureModeRelaxed) == cudaSuccess);
    CHECK(loss.asked());
    const auto next = loss_of(device);
    CHECK_FALSE(next.asked());
    CHECK(next.keeps_contexts());
    CHECK_FALSE(Loss().keeps_contexts());
}

TEST_CASE("what llama.cpp makes current at first is not left so") {
    const Driver driver;
    static const Driver* used = &driver;
    const auto current = [&] {
        void* context = nullptr;
        driver.call<int(void**)>("cuCtxGetCurrent")(&context);
        return context;
    };
    static void* another = nullptr;
    another = driver.call<void*(int, int)>("sotto_double_context")(1, 0);
    const auto meet = [] { used->call<int(void*)>("cuCtxSetCurrent")(another); };
    sotto::llama::keep_current(meet);
    CHECK(current() == nullptr);
    {
        const Current hosts(driver, false);
        const auto* before = current();
        sotto::llama::keep_current(meet);
        CHECK(current() == before);
    }
    driver.call<void(void*)>("sotto_double_context_gone")(another);
}

TEST_CASE("what was on a card that is lost is given back without a word") {
    CHECK(__wrap_cudaEventDestroy(nullptr) == cudaSuccess);
    CHECK(__wrap_cudaFree(nullptr) == cudaSuccess);
    CHECK(__wrap_cudaFreeHost(nullptr) == cudaSuccess);
    CHECK(__wrap_cudaGraphDestroy(nullptr) == cudaSuccess);
    CHECK(__wrap_cudaGraphExecDestroy(nullptr) == cudaSuccess);
    CHECK(__wrap_cudaStreamDestroy(nullptr) == cudaSuccess);
    CHECK(unheard == 0);
}

TEST_CASE("the host's environment does not say where memory lies") {
    for (const char* hidden : {"GGML_CUDA_DEVICES", "GGML_CUDA_ENABLE_UNIFIED_MEMORY", "GGML_CUDA_P2P"}) {
        CHECK(__wrap_getenv(hidden) == nullptr);
    }
    CHECK(std::string(__wrap_getenv("HOME")) == "HOME");
}
