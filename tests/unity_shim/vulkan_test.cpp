// Unity on Vulkan, with a real device: what it is created with, and engines that come and go with it.
#include <doctest/doctest.h>

#include "engine.hpp"
#include "nvidia_double.hpp"
#include "vulkan_renderer.hpp"

using namespace test;

namespace {

constexpr int kCycles = 200;
constexpr const char* kMaintenance = "VK_KHR_maintenance1";

// Another plugin's hook, which Unity calls in the order of priorities.
struct Other {
    GetProc next = nullptr;
    int asked = 0;
};
Other g_other;

VoidFunction other_look_up(void* instance, const char* name) {
    g_other.asked += std::string(name) == "vkCreateDevice";
    return g_other.next(instance, name);
}

GetProc TEST_UNITY_CALL other_begin(GetProc next, void*) {
    g_other.next = next;
    return &other_look_up;
}

void check_prepared(const std::string& reason) {
    const auto info = Shim::it().describe();
    CHECK(info.state == SOTTO_UNITY_STATE_READY);
    CHECK(info.renderer == SOTTO_UNITY_RENDERER_VULKAN);
    CHECK(info.cig_prepared == (reason.empty() ? 1 : 0));
    CHECK_MESSAGE(holds(text_of(info.reason), reason), text_of(info.reason));
    CHECK((info.reason.size == 0) == reason.empty());
}

} // namespace

TEST_CASE("what CiG needs is asked for when Unity creates its device, beside what Unity asks for") {
    auto& nvidia = Nvidia::fresh();
    const Loaded loaded;
    const VulkanUnity unity(Nvidia::loader(), {kMaintenance});
    CHECK(nvidia.devices == 1);
    CHECK(nvidia.extensions == std::vector<std::string>{kMaintenance, kExternalComputeQueue});
    CHECK(nvidia.reserved_queues == 1);
    CHECK(nvidia.keeps_features);
    CHECK(nvidia.misuses == 0);
    check_prepared("");
}

TEST_CASE("an extension that Unity enables itself is not asked for twice") {
    auto& nvidia = Nvidia::fresh();
    const Loaded loaded;
    const VulkanUnity unity(Nvidia::loader(), {kExternalComputeQueue});
    CHECK(nvidia.extensions == std::vector<std::string>{kExternalComputeQueue});
    CHECK(nvidia.reserved_queues == 1);
    CHECK(nvidia.misuses == 0);
    check_prepared("");
}

TEST_CASE("a driver without the extension creates what Unity asks for, and the reason is kept") {
    const Loaded loaded;
    const VulkanUnity unity;
    check_prepared("the Vulkan device has no VK_NV_external_compute_queue");
}

TEST_CASE("a driver that refuses the extension is asked again without it") {
    auto& nvidia = Nvidia::fresh();
    nvidia.refuses = true;
    const Loaded loaded;
    const VulkanUnity unity(Nvidia::loader(), {kMaintenance});
    CHECK(nvidia.devices == 1);
    CHECK(nvidia.extensions == std::vector<std::string>{kMaintenance});
    check_prepared("vkCreateDevice() with the extension of CiG returned -3");
}

TEST_CASE("hooks of other plugins are passed through, whichever comes first") {
    for (const int priority : {-5, 5}) {
        auto& nvidia = Nvidia::fresh();
        g_other = {};
        const Loaded loaded;
        loaded.unity.intercepts.push_back({&other_begin, nullptr, priority});
        {
            const VulkanUnity unity(Nvidia::loader());
            CHECK(g_other.asked > 0);
            CHECK(nvidia.extensions == std::vector<std::string>{kExternalComputeQueue});
            check_prepared("");
        }
        auto& all = loaded.unity.intercepts;
        all.erase(all.begin() + 1);
    }
}

TEST_CASE("of two instances that are alive, the one is asked that the device is of") {
    auto& nvidia = Nvidia::fresh();
    const Loaded loaded;
    const GetProc get = loaded.unity.start_vulkan(Nvidia::loader());
    Renderer first(get);
    first.look_up<VoidFunction>("vkCreateDevice");
    {
        Renderer second(get);
        second.create_device();
        first.create_device();
        CHECK(nvidia.devices == 2);
        CHECK(nvidia.extensions == std::vector<std::string>{kExternalComputeQueue});
    }
    first.destroy_device();
    first.create_device();
    CHECK(nvidia.reserved_queues == 1);
    CHECK(nvidia.misuses == 0);
}

TEST_CASE("a device whose instance can't be found out is created as Unity asks") {
    auto& nvidia = Nvidia::fresh();
    const Loaded loaded;
    Renderer renderer(loaded.unity.start_vulkan(Nvidia::loader()));
    nvidia.hides = true;
    renderer.create_device({kMaintenance});
    CHECK(nvidia.devices == 1);
    CHECK(nvidia.extensions == std::vector<std::string>{kMaintenance});
    loaded.unity.vulkan = renderer.shown(Nvidia::loader());
    loaded.unity.renderer = kVulkan;
    loaded.unity.send(kInitialize);
    check_prepared("the Vulkan device belongs to no instance that sotto_unity knows");
    loaded.unity.send(kShutdown);
}

TEST_CASE("a plugin that is loaded late attaches, and says what is missed") {
    auto& unity = Unity::fresh();
    {
        const VulkanUnity drawing;
        Shim::it().load(Unity::interfaces());
        check_prepared(
            "Unity created its Vulkan device before it loaded sotto_unity; enable 'Load on startup'"
        );
        const Engine engine;
        CHECK(engine.attach() == SOTTO_GPU_SHARING_CPU);
    }
    Shim::it().unload();
    CHECK(unity.misuses == 0);
}

TEST_CASE("a Unity that has no hooks for plugins attaches, and says what is missed") {
    auto& unity = Unity::fresh();
    unity.has_vulkan_v2 = false;
    Shim::it().load(Unity::interfaces());
    {
        const VulkanUnity drawing;
        check_prepared("this Unity has no IUnityGraphicsVulkanV2");
        const Engine engine;
        CHECK(engine.attach() == SOTTO_GPU_SHARING_CPU);
        CHECK(engine.is_attached());
    }
    Shim::it().unload();
    CHECK(unity.misuses == 0);
}

TEST_CASE("an engine is attached to Unity's own queue and detached from it, by either way") {
    const auto& shim = Shim::it();
    const Loaded loaded;
    const VulkanUnity unity;
    const Engine engine;
    CHECK(engine.attach() == SOTTO_GPU_SHARING_CPU); // the scripted backend computes there
    CHECK(holds(engine.describe(), R"("with":"vulkan")"));
    CHECK(shim.attach(engine.get(), SOTTO_GPU_SHARING_NONE, nullptr) == SOTTO_ERROR_STATE);
    CHECK(holds(shim.error(), "the engine already shares a device"));
    CHECK(engine.is_attached());
    CHECK(shim.detach(engine.get()) == SOTTO_OK);
    CHECK(!engine.is_attached());
    CHECK(shim.detach(engine.get()) == SOTTO_ERROR_STATE);

    engine.attach();
    CHECK(sotto_engine_detach_gpu(engine.get()) == SOTTO_OK); // without the plugin
    engine.attach();
    CHECK(shim.detach(engine.get()) == SOTTO_OK);
    engine.attach();
    CHECK(sotto_engine_detach_gpu(engine.get()) == SOTTO_OK);
    CHECK(shim.detach(engine.get()) == SOTTO_ERROR_STATE);

    sotto_gpu_sharing sharing = SOTTO_GPU_SHARING_CIG;
    CHECK(shim.attach(engine.get(), SOTTO_GPU_SHARING_CIG, &sharing) == SOTTO_ERROR_UNSUPPORTED);
    CHECK(sharing == SOTTO_GPU_SHARING_NONE);
    CHECK_MESSAGE(
        holds(shim.error(), "invalid gpu->min_sharing 'cig': expected at most 'cpu'"), shim.error()
    );
}

TEST_CASE("engines come and go with 200 devices of Unity, none of them left attached") {
    const auto& shim = Shim::it();
    const Loaded loaded;
    VulkanUnity unity;
    const Engine first;
    for (int cycle = 0; cycle < kCycles; ++cycle) {
        const auto generation = shim.describe().generation;
        REQUIRE(first.attach() == SOTTO_GPU_SHARING_CPU);
        if (cycle % 8 == 0) {
            const Engine forgotten; // it is destroyed while it is attached
            forgotten.attach();
        }
        if (cycle % 2 == 0) {
            unity.restart_device();
        } else {
            unity.reset_device();
        }
        REQUIRE(!first.is_attached());
        REQUIRE(shim.describe().generation == generation + 1);
        REQUIRE(shim.describe().state == SOTTO_UNITY_STATE_READY);
    }
}

TEST_CASE("Unity unloads the plugin while engines live and are attached") {
    const Engine engine;
    {
        const Loaded loaded;
        const VulkanUnity unity;
        engine.attach();
        Shim::it().unload();
        CHECK(!engine.is_attached());
        CHECK(Shim::it().describe().state == SOTTO_UNITY_STATE_NOT_LOADED);
    } // Unity destroys its device through functions that it looked up in the plugin
    const Loaded again;
    VulkanUnity unity;
    CHECK(engine.attach() == SOTTO_GPU_SHARING_CPU);
}

TEST_CASE("a device that is created after the plugin was unloaded is left alone") {
    auto& nvidia = Nvidia::fresh();
    const Loaded loaded;
    Renderer renderer(loaded.unity.start_vulkan(Nvidia::loader()));
    Shim::it().unload();
    renderer.create_device();
    CHECK(nvidia.devices == 1);
    CHECK(nvidia.extensions.empty());
}
