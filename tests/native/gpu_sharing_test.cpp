// The sharing ladder on a fake CUDA driver: each rung, each failing call, each invalid renderer.
#include "gpu/sharing.hpp"

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "support/card.hpp"
#include "support/paths.hpp"
#include "support/rung.hpp"

using namespace test;
using namespace sotto::gpu;

namespace {

void* const kQueue = VulkanDouble::handle(40);

Renderer on_d3d12(unsigned card = 1, void* queue = kQueue) {
    auto d3d12 = SOTTO_INIT(sotto_gpu_d3d12);
    d3d12.device = VulkanDouble::handle(41);
    d3d12.queue = queue;
    d3d12.luid = luid(card);
    return {d3d12};
}

Renderer on_vulkan() {
    return {VulkanDouble::renderer()};
}

Renderer on_cuda(void* context) {
    auto cuda = SOTTO_INIT(sotto_gpu_cuda);
    cuda.context = context;
    return {cuda};
}

Terms terms(const char* driver = paths::kCudaDouble) {
    return {driver, "", "no backend here computes with Vulkan"};
}

// Formats the result, as "cuda; cig: reason".
std::string told(const Sharing& sharing) {
    std::string why;
    for (const auto& one : sharing.not_taken()) {
        why += (why.empty() ? "" : "; ") + std::string(name_of(one.rung)) + ": " + one.why;
    }
    tell_rung(name_of(sharing.rung()), why);
    return name_of(sharing.rung()) + (why.empty() ? "" : "; " + why);
}

std::string taken(const Renderer& renderer, const Terms& on = terms()) {
    return told(Sharing(renderer, on));
}

std::string refusal(const Renderer& renderer, sotto_status status, const Terms& on = terms()) {
    try {
        told(Sharing(renderer, on));
        return "";
    } catch (const sotto::Error& error) {
        CHECK(error.status() == status);
        tell_rung("none", error.what());
        return error.what();
    }
}

bool has(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a renderer's queue yields a CiG context on its GPU") {
    const CudaDouble cuda;
    const VulkanDouble vulkan;
    for (const auto& renderer : {on_d3d12(), on_vulkan()}) {
        const Sharing sharing(renderer, terms());
        CHECK(told(sharing) == "cig");
        REQUIRE(sharing.context() != nullptr);
        CHECK(sharing.context()->is_cig());
        CHECK(sharing.context()->shared_memory() == 49152);
        CHECK(sharing.context()->priority() == 0);
        CHECK(sharing.adapter()->name == "Double 1"); // not simply the first GPU
        CHECK(sharing.adapter()->uuid == "10111213-1415-1617-1819-1a1b1c1d1e1f");
        CHECK(sharing.driver() == "13.0");
        CHECK(cuda.get("cig") == 1);
        CHECK(cuda.get("depth") == 0);
    }
    CHECK(VulkanDouble::it().made == 1);
    CHECK(VulkanDouble::it().queues == 0);
    CHECK(VulkanDouble::it().misuses == 0);
    CHECK(VulkanDouble::it().preferred == VulkanDouble::renderer().queue);
    cuda.check_clean();
}

TEST_CASE("without CiG, a low-priority context is used, with the reason") {
    const CudaDouble cuda;
    const VulkanDouble vulkan;
    auto& state = VulkanDouble::it();
    const auto falls = [&](const Renderer& renderer, const std::string& why) {
        const auto text = taken(renderer);
        CHECK_MESSAGE(text.find("cuda; cig: " + why) == 0, text);
        cuda.check_clean();
        CHECK(state.queues == 0);
    };
    falls(on_d3d12(0), "the driver does not support CiG here (attribute 135 is 0)");
    cuda.set("d3d12", 2);
    falls(on_d3d12(), "the driver does not know attribute 135");
    cuda.set("vulkan", 0);
    falls(on_vulkan(), "the driver does not support CiG here (attribute 138 is 0)");
    cuda.set("reset", 2);
    cuda.set("enabled", 0);
    falls(on_d3d12(), "the driver created a regular context instead of a CiG context");
    falls(on_vulkan(), "the driver created a regular context instead of a CiG context");
    cuda.set("reset", 2);
    cuda.set("limits", 0);
    falls(on_d3d12(), "the driver created a regular context instead of a CiG context");
    cuda.set("reset", 2);
    cuda.fail("cuCtxCreate_v4", 1, 2);
    falls(on_d3d12(), "cuCtxCreate_v4: CUDA_ERROR_OUT_OF_MEMORY (out of memory)");
    state.extension = false;
    falls(on_vulkan(), "the Vulkan device has no VK_NV_external_compute_queue");
    state.extension = true;
    state.enabled = false;
    falls(
        on_vulkan(), "invalid vulkan->device: expected a device with vkCreateExternalComputeQueueNV; enable"
    );
    state.enabled = true;
    state.create = -3;
    falls(on_vulkan(), "vkCreateExternalComputeQueueNV returned -3");
    state.create = 0;
    state.data_size = 0;
    falls(on_vulkan(), "the Vulkan driver reports no data of its queue to share");
    state.data_size = 100;
    CHECK(taken(on_vulkan()) == "cig");
    CHECK(state.misuses == 0);
}

TEST_CASE("without CUDA, models stay on the CPU") {
    const CudaDouble cuda;
    const VulkanDouble vulkan;
    const auto stays = [&](const std::string& text, const std::string& why) {
        CHECK_MESSAGE(text.find("cpu; cig: " + why) == 0, text);
        CHECK_MESSAGE(has(text, "; cuda: " + why), text);
        CHECK(has(text, "; vulkan: no backend here computes with Vulkan"));
        cuda.check_clean();
    };
    stays(
        taken(on_d3d12(7)),
        "no CUDA device has the LUID 0x1000000d7; the driver reports Double 0 (LUID 0x1000000d0), "
    );
    cuda.set("luids", 0);
    stays(
        taken(on_d3d12()), "no CUDA device has the LUID 0x1000000d1; the driver reports Double 0 (no LUID), "
    );
    cuda.set("cards", 0);
    stays(taken(on_d3d12()), "no CUDA device has the LUID 0x1000000d1; the driver reports no device");
    cuda.set("reset", 2);
    VulkanDouble::it().card = 3; // a GPU of another vendor
    stays(
        taken(on_vulkan()),
        "no CUDA device has the UUID 30313233-3435-3637-3839-3a3b3c3d3e3f; the driver reports "
    );
    VulkanDouble::it().old = true;
    stays(taken(on_vulkan()), "the device cannot be identified: the Vulkan instance has no ");
    stays(
        taken(on_d3d12(), terms("/nowhere/libcuda.so.1")),
        "the CUDA driver cannot be opened: /nowhere/libcuda.so.1"
    );
    stays(
        taken(on_d3d12(), terms(paths::kCudaHalf)),
        std::string("the CUDA driver in ") + paths::kCudaHalf + " lacks cuCtxPushCurrent_v2"
    );
    cuda.set("reset", 2);
    auto unused = terms();
    unused.no_cuda = "no backend here computes with CUDA";
    stays(taken(on_d3d12(), unused), "no backend here computes with CUDA");
    CHECK(cuda.get("calls") == 0); // the driver is not called if no backend uses it
}

TEST_CASE("a driver without CiG support yields a low-priority context") {
    const CudaDouble old(paths::kCudaOld);
    const auto text = taken(on_d3d12(), terms(paths::kCudaOld));
    CHECK_MESSAGE(text.find("cuda; cig: the driver speaks CUDA 13.0 and has no cuCtxCreate_v4") == 0, text);
    old.check_clean();
}

TEST_CASE("a host's context is used as it is and is not destroyed") {
    const CudaDouble cuda;
    void* plain = cuda.context(1, false);
    void* cig = cuda.context(1, true);
    CHECK(taken(on_cuda(plain)) == "cuda; cig: cuda->context is not a CiG context");
    CHECK(taken(on_cuda(cig)) == "cig");
    CHECK(cuda.calls("cuCtxDestroy_v2") == 0);
    {
        const Sharing sharing(on_cuda(cig), terms());
        CHECK(sharing.adapter()->name == "Double 1");
        CHECK_FALSE(sharing.context()->is_ours());
    }
    cuda.gone(plain);
    const auto text = taken(on_cuda(plain));
    CHECK_MESSAGE(
        text.find(
            "cpu; cig: cuda->context cannot be used: cuCtxPushCurrent_v2: CUDA_ERROR_INVALID_CONTEXT"
        ) == 0,
        text
    );
    cuda.gone(cig);
    cuda.check_clean();
}

TEST_CASE("a host's context determines the GPU, whatever is current") {
    const CudaDouble cuda;
    cuda.set("luids", 0); // no LUIDs, as on Linux
    const Terms on = {paths::kCudaDouble, "no backend here computes with CUDA", ""};
    void* context = cuda.context(1, false);
    {
        const Sharing sharing(on_cuda(context), on);
        CHECK(has(told(sharing), "vulkan; cig: no backend here"));
        CHECK(sharing.uuid() == "10111213-1415-1617-1819-1a1b1c1d1e1f"); // GPU 1's, not the first one's
        CHECK(sharing.context() == nullptr);
    }
    cuda.gone(context);
    const auto dead = taken(on_cuda(context), on);
    CHECK_MESSAGE(has(dead, "vulkan: cuda->context cannot be used"), dead);
    CHECK(dead.find("cpu") == 0);
    cuda.check_clean();
}

// Fails each driver call once while a GPU is shared and released. Returns how often each rung was taken.
std::vector<int>
taken_while_failing(const CudaDouble& cuda, const Renderer& renderer, bool grants, long depth) {
    std::vector<int> rungs(5);
    long places = 0;
    for (bool failed = true; failed; ++places) {
        CAPTURE(places);
        cuda.set("reset", 2);
        cuda.set("d3d12", grants ? 1 : 0);
        cuda.set("vulkan", grants ? 1 : 0);
        cuda.fail("*", places + 1);
        {
            const Sharing sharing(renderer, terms());
            ++rungs[static_cast<std::size_t>(sharing.rung())];
            CHECK(
                sharing.not_taken().size() == static_cast<std::size_t>(SOTTO_GPU_SHARING_CIG - sharing.rung())
            );
            for (const auto& one : sharing.not_taken()) {
                CHECK_FALSE(one.why.empty());
            }
            CHECK(cuda.get("depth") == depth);
        }
        failed = cuda.get("failures") > 0;
        cuda.set("forgive", 1);
        cuda.check_clean(depth);
        CHECK(VulkanDouble::it().queues == 0);
    }
    const auto times = [&](sotto_gpu_sharing rung) {
        return std::string(name_of(rung)) + " " + std::to_string(rungs[static_cast<std::size_t>(rung)]);
    };
    tell_rung(
        times(SOTTO_GPU_SHARING_CIG) + ", " + times(SOTTO_GPU_SHARING_CUDA) + ", " +
            times(SOTTO_GPU_SHARING_CPU),
        std::to_string(places - 1) + " calls failed, once each"
    );
    CHECK(places > 20);
    return rungs;
}

TEST_CASE("each failing call, at each point, costs at most a rung and leaks nothing") {
    const CudaDouble cuda;
    const VulkanDouble vulkan;
    auto* hosts = static_cast<cuda::Context>(cuda.context(1, false));
    const auto push = cuda.call<int(cuda::Context)>("cuCtxPushCurrent_v2");
    const auto pop = cuda.call<int(cuda::Context*)>("cuCtxPopCurrent_v2");
    const auto now = cuda.call<int(cuda::Context*)>("cuCtxGetCurrent");
    for (const long depth : {0, 1}) { // with and without a current context on the calling thread
        REQUIRE((depth == 0 || push(hosts) == 0));
        for (const auto& renderer : {on_d3d12(), on_vulkan()}) {
            const auto granted = taken_while_failing(cuda, renderer, true, depth);
            CHECK(granted[SOTTO_GPU_SHARING_CIG] > 0);
            CHECK(granted[SOTTO_GPU_SHARING_CUDA] > 0);
            const auto refused = taken_while_failing(cuda, renderer, false, depth);
            CHECK(refused[SOTTO_GPU_SHARING_CIG] == 0);
            CHECK(refused[SOTTO_GPU_SHARING_CUDA] > 0);
            CHECK(refused[SOTTO_GPU_SHARING_CPU] > 0);
        }
        CHECK(taken_while_failing(cuda, on_cuda(hosts), true, depth)[SOTTO_GPU_SHARING_CUDA] > 0);
        cuda::Context top = nullptr;
        CHECK((now(&top) == 0 && top == (depth == 0 ? nullptr : hosts)));
    }
    cuda::Context top = nullptr;
    CHECK((pop(&top) == 0 && top == hosts));
    cuda.gone(hosts);
    CHECK(VulkanDouble::it().misuses == 0);
}

TEST_CASE("two hundred contexts are created and destroyed without a leak") {
    const CudaDouble cuda;
    const VulkanDouble vulkan;
    for (int i = 0; i < 200; ++i) {
        const Sharing d3d12(on_d3d12(), terms());
        const Sharing shared(on_vulkan(), terms());
        CHECK(d3d12.rung() == SOTTO_GPU_SHARING_CIG);
        CHECK(shared.rung() == SOTTO_GPU_SHARING_CIG);
        CHECK(cuda.get("contexts") == 2);
        CHECK(VulkanDouble::it().queues == 1);
    }
    cuda.check_clean();
    CHECK(VulkanDouble::it().made == 200);
    CHECK(VulkanDouble::it().queues == 0);
}

TEST_CASE("engines on one queue share a context, from any thread, until the last one ends") {
    const CudaDouble cuda; // at most one CiG context for each queue
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i) {
        threads.emplace_back([] {
            for (int turn = 0; turn < 25; ++turn) {
                const Sharing sharing(on_d3d12(), terms());
                CHECK(sharing.rung() == SOTTO_GPU_SHARING_CIG);
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    cuda.check_clean();
    const Sharing one(on_d3d12(), terms());
    const Sharing same(on_d3d12(), terms());
    const Sharing other(on_d3d12(1, VulkanDouble::handle(42)), terms());
    CHECK(one.context() == same.context());
    CHECK(one.context() != other.context());
    CHECK(cuda.get("contexts") == 2);
}

TEST_CASE("handles that do not belong together are refused with the reason") {
    const CudaDouble cuda;
    const VulkanDouble vulkan;
    const auto odd = [&](const std::function<void(sotto_gpu_vulkan&)>& change, const std::string& why) {
        auto renderer = VulkanDouble::renderer();
        change(renderer);
        CHECK(refusal({renderer}, SOTTO_ERROR_ARGUMENT) == why);
    };
    odd([](auto& r) { r.physical_device = r.device; },
        "invalid vulkan->physical_device: expected a device of vulkan->instance");
    odd([](auto& r) { r.queue_family = 2; },
        "invalid vulkan->queue_family '2': expected less than 2, the number of families of the device");
    odd([](auto& r) { r.queue_family = 1; },
        "invalid vulkan->queue_family '1': expected a family with graphics");
    odd([](auto& r) { r.queue_index = 1; },
        "invalid vulkan->queue_index '1': expected less than 1, the number of queues of the family");
    odd([](auto& r) { r.queue = r.device; },
        "invalid vulkan->queue: expected queue 0 of family 0 of vulkan->device");
    odd([](auto& r) { r.queue = nullptr; }, "missing vulkan->queue: expected a handle, not NULL");
    auto lost = VulkanDouble::renderer(); // a getter that finds no function for this instance
    lost.instance = lost.device;
    const auto text = taken({lost});
    CHECK_MESSAGE(has(text, "the Vulkan instance has no vkEnumeratePhysicalDevices"), text);
    auto d3d12 = std::get<sotto_gpu_d3d12>(on_d3d12().with);
    d3d12.luid = 0;
    CHECK(refusal({d3d12}, SOTTO_ERROR_ARGUMENT).find("missing d3d12->luid: expected the LUID") == 0);
    auto much = on_d3d12(0);
    much.least = SOTTO_GPU_SHARING_CIG;
    CHECK(has(
        refusal(much, SOTTO_ERROR_UNSUPPORTED),
        "invalid gpu->min_sharing 'cig': expected at most 'cuda' here; cig: the driver does not support CiG"
    ));
    cuda.check_clean();
}
