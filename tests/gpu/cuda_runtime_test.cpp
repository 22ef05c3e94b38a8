// What the CUDA module does under ggml's calls of CUDA's runtime: on a fake runtime, which writes down what
// it is called with, and the double of the driver.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "cuda/runtime.hpp"

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
cudaError_t __wrap_cudaFuncSetAttribute(const void*, cudaFuncAttribute, int);
cudaError_t __wrap___cudaLaunchKernel(cudaKernel_t, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchCooperativeKernel(const void*, dim3, dim3, void**, size_t, cudaStream_t);
cudaError_t __wrap_cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void*, void**);
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
cudaError_t __real_cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute, int bytes) {
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
cudaError_t cudaGetKernel(cudaKernel_t* handle, const void* kernel) {
    *handle = kernel == kKernel ? kHandle : nullptr;
    return kernel == kKernel ? cudaSuccess : cudaErrorInvalidDeviceFunction;
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

TEST_CASE("a kernel's limit is raised once in each context that launches it") {
    const Driver driver;
    constexpr int kBytes = 60'000;
    const auto launch = [](std::size_t memory) {
        return __wrap___cudaLaunchKernel(kHandle, {}, {}, nullptr, memory, nullptr);
    };
    const Current first(driver, false);
    CHECK(launch(kBytes) == cudaSuccess); // nothing was raised yet
    CHECK(raised.empty());
    constexpr auto kLimit = cudaFuncAttributeMaxDynamicSharedMemorySize;
    CHECK(__wrap_cudaFuncSetAttribute(kKernel, kLimit, kBytes) == cudaSuccess);
    CHECK(raised == std::vector<Raised>{{kKernel, kBytes}});
    {
        const Current second(driver, true);
        CHECK(launch(0) == cudaSuccess);
        CHECK(raised.size() == 1); // it wants none of it
        CHECK(launch(kBytes) == cudaSuccess);
        CHECK(launch(kBytes) == cudaSuccess);
        CHECK(raised.size() == 2);
        CHECK(raised.back() == Raised{kHandle, kBytes});
        cudaLaunchConfig_t config{};
        config.dynamicSmemBytes = kBytes;
        CHECK(__wrap_cudaLaunchKernelExC(&config, kKernel, nullptr) == cudaSuccess);
        CHECK(__wrap_cudaLaunchCooperativeKernel(kKernel, {}, {}, nullptr, kBytes, nullptr) == cudaSuccess);
        CHECK(raised.size() == 3); // by its other name
    }
    const Current third(driver, false);
    failing = cudaErrorInvalidValue;
    const auto before = launches;
    CHECK(launch(kBytes) == cudaErrorInvalidValue);
    CHECK(launches == before);
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
