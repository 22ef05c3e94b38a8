// Tests of the fake CUDA driver: it must detect misuse, or the tests that use it prove little.
#include <cstdlib>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "gpu/cuda_api.hpp"
#include "support/card.hpp"

using namespace test;
using sotto::gpu::cuda::Context;
using sotto::gpu::cuda::Device;
using sotto::gpu::cuda::Stream;

namespace {

struct Calls {
    const CudaDouble& cuda;

    Context create() const {
        Context context = nullptr;
        CHECK(cuda.call<int(Context*, unsigned, Device)>("cuCtxCreate_v2")(&context, 0, 1) == 0);
        return context;
    }
    int push(Context context) const { return cuda.call<int(Context)>("cuCtxPushCurrent_v2")(context); }
    int pop() const {
        Context popped = nullptr;
        return cuda.call<int(Context*)>("cuCtxPopCurrent_v2")(&popped);
    }
    int destroy(Context context) const { return cuda.call<int(Context)>("cuCtxDestroy_v2")(context); }
};

} // namespace

TEST_CASE("the fake driver detects each misuse") {
    const CudaDouble cuda;
    const Calls calls{cuda};
    REQUIRE(cuda.call<int(unsigned)>("cuInit")(0) == 0);
    auto* context = calls.create();
    std::thread([&] { CHECK(calls.pop() != 0); }).join();
    CHECK(cuda.misuses() == "a thread popped what it had not pushed\n");
    cuda.set("reset", 2);
    std::thread([&] {
        CHECK(calls.push(context) == 0);
        CHECK(cuda.get("depth") == 1);
        CHECK(calls.pop() == 0);
    }).join();
    CHECK(cuda.misuses().empty());
    CHECK(calls.destroy(context) == 0);
    CHECK(cuda.misuses() == "a context was destroyed while it was current\n");
    cuda.set("reset", 2);
    CHECK(calls.pop() == 0);
    CHECK(calls.push(context) != 0);
    CHECK(calls.destroy(context) != 0);
    CHECK(cuda.misuses() == "a context that isn't there was destroyed\n");
    cuda.set("reset", 2);
    auto* hosts = static_cast<Context>(cuda.context(1, false));
    CHECK(calls.destroy(hosts) == 0);
    CHECK(cuda.misuses() == "a context of the host's was destroyed\n");
    cuda.set("reset", 2);
}

TEST_CASE("a call of the fake driver fails once when configured to") {
    const CudaDouble cuda;
    const auto init = cuda.call<int(unsigned)>("cuInit");
    cuda.fail("cuInit", 2, 999);
    CHECK(init(0) == 0);
    CHECK(init(0) == 999);
    CHECK(init(0) == 0);
    CHECK(cuda.get("failures") == 1);
    CHECK(cuda.calls("cuInit") == 3);
}

TEST_CASE(
    "a leaked context terminates the process with a message" *
    doctest::skip(std::getenv("SOTTO_TEST_LEAVE") == nullptr)
) {
    const CudaDouble cuda;
    const Calls calls{cuda};
    REQUIRE(cuda.call<int(unsigned)>("cuInit")(0) == 0);
    calls.create();
    CHECK(calls.pop() == 0);
}
