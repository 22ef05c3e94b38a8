// What the plugin makes of Unity's renderers, events and interfaces, where nothing is drawn.
#include <algorithm>
#include <atomic>
#include <thread>

#include <doctest/doctest.h>

#include "engine.hpp"

using namespace test;

namespace {

int g_device;
int g_queue;

// Unity draws with Direct3D 12, on objects that nobody may touch: nothing here is attached to them.
void show_d3d12(Unity& unity) {
    unity.renderer = kD3D12;
    unity.d3d12_device = &g_device;
    unity.d3d12_queue = &g_queue;
}

void check_refused(sotto_status status, const std::string& part) {
    const auto& shim = Shim::it();
    const Engine engine;
    sotto_gpu_sharing sharing = SOTTO_GPU_SHARING_CIG;
    CHECK(shim.attach(engine.get(), SOTTO_GPU_SHARING_NONE, &sharing) == status);
    CHECK(sharing == SOTTO_GPU_SHARING_NONE);
    CHECK_MESSAGE(holds(shim.error(), part), shim.error());
    CHECK(!engine.is_attached());
    CHECK(text_of(shim.describe().reason) == shim.error());
}

} // namespace

TEST_CASE("before Unity loads the plugin, and after it unloads it, nothing can be attached") {
    const auto& shim = Shim::it();
    CHECK(shim.abi() == SOTTO_UNITY_ABI);
    for (int round = 0; round < 2; ++round) {
        const auto info = shim.describe();
        CHECK(info.state == SOTTO_UNITY_STATE_NOT_LOADED);
        CHECK(info.renderer == SOTTO_UNITY_RENDERER_NONE);
        CHECK(info.unity_renderer == -1);
        check_refused(SOTTO_ERROR_STATE, "Unity has not loaded sotto_unity");
        shim.unload(); // also if it was never loaded, and twice
        shim.unload();
        shim.load(nullptr);
        const Loaded loaded;
    }
}

TEST_CASE("a struct of another size is filled as far as it goes, an impossible one refused") {
    const auto& shim = Shim::it();
    auto info = SOTTO_INIT(sotto_unity_graphics_info);
    info.renderer = 77;
    info.struct_size = 8;
    CHECK(shim.graphics(&info) == SOTTO_OK);
    CHECK(info.struct_size == 8);
    CHECK(info.state == SOTTO_UNITY_STATE_NOT_LOADED);
    CHECK(info.renderer == 77);
    for (const std::uint32_t size : {0u, 3u, 4097u}) {
        info.struct_size = size;
        CHECK(shim.graphics(&info) == SOTTO_ERROR_ARGUMENT);
        CHECK(
            shim.error() ==
            "invalid info->struct_size '" + std::to_string(size) + "': expected sizeof the struct"
        );
    }
    CHECK(shim.graphics(nullptr) == SOTTO_ERROR_ARGUMENT);
}

TEST_CASE("renderers that can't be shared are named, with the way out") {
    const std::pair<int, const char*> cases[] = {
        {kD3D11, "invalid renderer 'Direct3D 11'"},
        {kOpenGlEs3, "invalid renderer 'OpenGL ES 3'"},
        {kOpenGlCore, "invalid renderer 'OpenGL'"},
        {kMetal, "invalid renderer 'Metal'"},
        {25, "invalid renderer 'unknown' (Unity's number 25)"},
        {-5, "invalid renderer 'unknown' (Unity's number -5)"},
        {0x7fffffff, "(Unity's number 2147483647): expected Direct3D 12 or Vulkan; change"},
    };
    for (const auto& [renderer, part] : cases) {
        const Loaded loaded(renderer);
        const auto info = Shim::it().describe();
        CHECK(info.state == SOTTO_UNITY_STATE_UNSUPPORTED);
        CHECK(info.renderer == SOTTO_UNITY_RENDERER_OTHER);
        CHECK(info.unity_renderer == renderer);
        CHECK(info.cig_prepared == 0);
        check_refused(SOTTO_ERROR_UNSUPPORTED, part);
    }
}

TEST_CASE("a Unity without graphics has no device, whatever it calls") {
    const Loaded loaded;
    for (const auto event : {kInitialize, kBeforeReset, kAfterReset}) {
        loaded.unity.send(event);
    }
    const auto info = Shim::it().describe();
    CHECK(info.state == SOTTO_UNITY_STATE_NO_DEVICE);
    CHECK(info.unity_renderer == kNull);
    check_refused(SOTTO_ERROR_STATE, "Unity has no graphics device: it runs with -nographics");
    loaded.unity.send(kShutdown);
    check_refused(SOTTO_ERROR_STATE, "Unity destroyed its graphics device");
}

TEST_CASE(
    "the device of each Direct3D 12 interface is found, the newest first; older ones hand out no queue"
) {
    auto& unity = Unity::fresh();
    for (const auto& versions : {std::vector<int>{4, 5, 6, 7}, {4, 5, 6}, {5, 4}, {4}}) {
        const Loaded loaded;
        show_d3d12(unity);
        unity.d3d12_versions = versions;
        unity.send(kInitialize);
        const auto info = Shim::it().describe();
        CHECK(info.state == SOTTO_UNITY_STATE_READY);
        CHECK(info.renderer == SOTTO_UNITY_RENDERER_D3D12);
        CHECK(info.cig_prepared == 1);
        CHECK(info.reason.size == 0);
        CHECK(unity.asked_d3d12 == *std::max_element(versions.begin(), versions.end()));
    }
    const Loaded loaded;
    show_d3d12(unity);
    unity.d3d12_versions = {2, 3};
    unity.send(kInitialize);
    check_refused(SOTTO_ERROR_UNSUPPORTED, "this Unity has none of IUnityGraphicsD3D12v4 to v7");
}

TEST_CASE("interfaces that are missing, and objects that are NULL, have a reason") {
    const Loaded loaded;
    show_d3d12(loaded.unity);
    loaded.unity.d3d12_queue = nullptr;
    loaded.unity.send(kInitialize);
    check_refused(SOTTO_ERROR_STATE, "Unity handed out no Direct3D 12 device or queue");
    loaded.unity.renderer = kVulkan;
    loaded.unity.send(kInitialize);
    check_refused(SOTTO_ERROR_STATE, "Unity handed out no Vulkan device or queue");
    loaded.unity.has_vulkan_v2 = false;
    loaded.unity.send(kInitialize);
    check_refused(SOTTO_ERROR_STATE, "Unity handed out no Vulkan device or queue");
    loaded.unity.has_vulkan = false;
    loaded.unity.send(kInitialize);
    check_refused(SOTTO_ERROR_UNSUPPORTED, "this Unity has neither IUnityGraphicsVulkan nor");
}

TEST_CASE("a Unity without IUnityGraphics is refused, and unloads") {
    auto& unity = Unity::fresh();
    unity.has_graphics = false;
    unity.has_vulkan = unity.has_vulkan_v2 = false;
    Shim::it().load(Unity::interfaces());
    check_refused(SOTTO_ERROR_UNSUPPORTED, "this Unity has no IUnityGraphics");
    Shim::it().unload();
    CHECK(unity.misuses == 0);
}

TEST_CASE("a second load registers nothing twice") {
    const Loaded loaded;
    Shim::it().load(Unity::interfaces());
    CHECK(loaded.unity.callbacks.size() == 1);
    CHECK(loaded.unity.intercepts.size() == 1);
}

TEST_CASE("each device counts, and a reset shows between them; unknown events change nothing") {
    const auto& shim = Shim::it();
    const Loaded loaded;
    show_d3d12(loaded.unity);
    loaded.unity.send(kInitialize);
    const auto first = shim.describe().generation;
    loaded.unity.send(kBeforeReset);
    CHECK(shim.describe().state == SOTTO_UNITY_STATE_RESETTING);
    CHECK(shim.describe().generation == first);
    check_refused(SOTTO_ERROR_STATE, "Unity resets its graphics device");
    loaded.unity.send(kAfterReset);
    CHECK(shim.describe().state == SOTTO_UNITY_STATE_READY);
    CHECK(shim.describe().generation == first + 1);
    loaded.unity.send(static_cast<DeviceEvent>(9));
    CHECK(shim.describe().state == SOTTO_UNITY_STATE_READY);
    CHECK(shim.describe().generation == first + 1);
}

TEST_CASE("the library's own reasons come through, and what is no engine is refused") {
    const auto& shim = Shim::it();
    const Loaded loaded;
    show_d3d12(loaded.unity);
    loaded.unity.send(kInitialize);
    const Engine engine;
    CHECK(shim.attach(nullptr, SOTTO_GPU_SHARING_NONE, nullptr) == SOTTO_ERROR_ARGUMENT);
    CHECK(holds(shim.error(), "engine"));
    CHECK(shim.attach(engine.get(), 99, nullptr) == SOTTO_ERROR_ARGUMENT);
    CHECK(holds(shim.error(), "invalid gpu->min_sharing '99'"));
    CHECK(shim.detach(engine.get()) == SOTTO_ERROR_STATE);
    CHECK(holds(shim.error(), "the engine is not attached to Unity's device"));
    CHECK(shim.detach(nullptr) == SOTTO_ERROR_STATE);
}

TEST_CASE("many threads may ask while Unity loses its device again and again") {
    const auto& shim = Shim::it();
    const Loaded loaded;
    std::atomic<bool> ends{false};
    std::thread asks([&] {
        const Engine engine;
        while (!ends) {
            shim.describe();
            shim.attach(engine.get(), 99, nullptr); // is refused at any time
            shim.detach(engine.get());
        }
    });
    for (int round = 0; round < 500; ++round) {
        show_d3d12(loaded.unity);
        loaded.unity.send(kInitialize);
        loaded.unity.send(kBeforeReset);
        loaded.unity.send(kAfterReset);
        loaded.unity.send(kShutdown);
    }
    ends = true;
    asks.join();
    CHECK(shim.describe().state == SOTTO_UNITY_STATE_NO_DEVICE);
}
