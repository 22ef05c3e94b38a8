// Answers that run on Unity's device when Unity destroys it: on a double of NVIDIA's drivers, and on the
// Vulkan module with the house model.
#include <algorithm>
#include <chrono>
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
        reinterpret_cast<void (*)(const char*, long)>(find("sotto_double_set"))("reset", 1);
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

double ms_of(void (VulkanUnity::*call)(), VulkanUnity& unity) {
    const auto begin = std::chrono::steady_clock::now();
    (unity.*call)();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
}

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
        longest = std::max(longest, ms_of(&VulkanUnity::restart_device, unity));
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

TEST_CASE("the house model answers on Unity's device, and on the processor when that is gone") {
    const Loaded loaded;
    VulkanUnity unity;
    const Engine engine(SOTTO_MODULES);
    REQUIRE(engine.attach() == SOTTO_GPU_SHARING_VULKAN); // or the Vulkan module is not in SOTTO_LIBRARY_DIR
    engine.load("", SOTTO_MODULES "/house.gguf");
    const auto request = engine.ask(R"(, "max_tokens": 200, "ignore_eos": true, "temperature": 0)");
    engine.wait_for_text(request);
    const double took = ms_of(&VulkanUnity::restart_device, unity);
    const End end = engine.end_of(request);
    CHECK_MESSAGE(end.status == SOTTO_ERROR_CANCELLED, end.error);
    const End after = engine.end_of(engine.ask(R"(, "max_tokens": 8, "temperature": 0)"));
    CHECK_MESSAGE(after.status == SOTTO_OK, after.error);
    CHECK(!after.text.empty());
    tell_rung("vulkan");
    std::printf(
        "figure: under the house model in %.0f ms, then the CPU says '%s'\n", took, after.text.c_str()
    );
}
