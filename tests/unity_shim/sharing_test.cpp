// Answers that run on Unity's device when Unity destroys it, on a double of NVIDIA's drivers.
#include <algorithm>
#include <cstdio>

#include <dlfcn.h>
#include <doctest/doctest.h>

#include "../native/support/rung.hpp"
#include "engine.hpp"
#include "nvidia_double.hpp"
#include "vulkan_renderer.hpp"

using namespace test;

namespace {

constexpr const char* kEndless = R"({"tokens": ["a"], "loop": true, "prompt_tokens": 1, "token_ms": 1})";

// The double of the CUDA driver: see tests/gpu/double. Once it is loaded, the engine takes it for the
// system's.
class CudaDouble {
public:
    CudaDouble() : library_(dlopen(SOTTO_MODULES "/cuda_whole/libcuda.so.1", RTLD_NOW | RTLD_LOCAL)) {
        REQUIRE_MESSAGE(library_ != nullptr, dlerror());
        reinterpret_cast<void (*)(const char*, long)>(find("sotto_double_set"))("reset", 2);
    }
    long get(const char* what) const {
        return reinterpret_cast<long (*)(const char*)>(find("sotto_double_get"))(what);
    }
    std::string misuses() const {
        return reinterpret_cast<const char* (*)()>(find("sotto_double_misuses"))();
    }

private:
    void* find(const char* name) const {
        void* found = dlsym(library_, name);
        REQUIRE(found != nullptr);
        return found;
    }

    void* const library_;
};

} // namespace

TEST_CASE("CiG on doubles of NVIDIA's drivers: Unity's queue is lent, and back before the device goes") {
    const CudaDouble cuda;
    auto& nvidia = Nvidia::fresh();
    const Loaded loaded;
    VulkanUnity unity(Nvidia::loader());
    const Engine engine(SOTTO_MODULES "/scripted_on_card");
    for (int cycle = 0; cycle < 50; ++cycle) {
        REQUIRE_MESSAGE(engine.attach() == SOTTO_GPU_SHARING_CIG, engine.describe());
        REQUIRE(nvidia.lent == 1);
        REQUIRE(nvidia.preferred == unity.renderer.queue);
        REQUIRE(cuda.get("contexts") == 1);
        unity.restart_device();
        REQUIRE(nvidia.lent == 0);
        REQUIRE(cuda.get("contexts") == 0);
    }
    CHECK(nvidia.misuses == 0);
    CHECK(cuda.misuses() == "");
}

TEST_CASE("an answer that runs in Unity's context ends as cancelled when Unity destroys its device") {
    const CudaDouble cuda;
    auto& nvidia = Nvidia::fresh();
    const Loaded loaded;
    VulkanUnity unity(Nvidia::loader());
    const Engine engine(SOTTO_MODULES "/scripted_on_card");
    REQUIRE(engine.attach() == SOTTO_GPU_SHARING_CIG);
    engine.load(kEndless);
    double longest = 0;
    for (int cycle = 0; cycle < 20; ++cycle) {
        const auto request = engine.ask();
        engine.wait_for_text(request);
        REQUIRE(cuda.get("contexts") == 1);
        longest = std::max(longest, unity.restart_device());
        REQUIRE(cuda.get("contexts") == 0);
        REQUIRE(nvidia.lent == 0);
        const End end = engine.end_of(request);
        REQUIRE(end.status == SOTTO_ERROR_CANCELLED);
        REQUIRE(engine.attach() == SOTTO_GPU_SHARING_CIG);
    }
    CHECK(nvidia.misuses == 0);
    CHECK(cuda.misuses() == "");
    tell_rung("cig");
    std::printf("figure: Unity's device restarted under an answer in at most %.0f ms\n", longest);
}
