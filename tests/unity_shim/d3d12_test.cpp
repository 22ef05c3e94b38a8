// Unity on Direct3D 12, with a real device: under Wine, vkd3d's.
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>

#include <d3d12.h>
#include <doctest/doctest.h>
#include <dxgi1_4.h>

#include "engine.hpp"

using namespace test;

namespace {

constexpr int kCycles = 200;

// A device and the queue that Unity would draw with; both live until the process ends.
struct Device {
    ID3D12Device* device = nullptr;
    ID3D12CommandQueue* queue = nullptr;

    Device() {
        IDXGIFactory4* factory = nullptr;
        IDXGIAdapter1* adapter = nullptr;
        REQUIRE(SUCCEEDED(CreateDXGIFactory1(IID_PPV_ARGS(&factory))));
        REQUIRE(SUCCEEDED(factory->EnumAdapters1(0, &adapter)));
        REQUIRE(SUCCEEDED(D3D12CreateDevice(adapter, D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&device))));
        queue = make_queue();
    }
    ID3D12CommandQueue* make_queue() const {
        D3D12_COMMAND_QUEUE_DESC desc{};
        desc.Type = D3D12_COMMAND_LIST_TYPE_DIRECT;
        ID3D12CommandQueue* made = nullptr;
        REQUIRE(SUCCEEDED(device->CreateCommandQueue(&desc, IID_PPV_ARGS(&made))));
        return made;
    }
    static const Device& it() {
        static const Device device;
        return device;
    }
};

void show(Unity& unity, ID3D12CommandQueue* queue) {
    unity.renderer = kD3D12;
    unity.d3d12_device = Device::it().device;
    unity.d3d12_queue = queue;
}

} // namespace

TEST_CASE("a device that exists when Unity loads the plugin is found, by each version of the interface") {
    for (const int version : {4, 5, 6, 7}) {
        auto& unity = Unity::fresh();
        unity.d3d12_versions = {version};
        show(unity, Device::it().queue);
        Shim::it().load(Unity::interfaces());
        CHECK(unity.asked_d3d12 == version);
        const Engine engine;
        CHECK(engine.attach() == SOTTO_GPU_SHARING_CPU); // Wine has no CUDA
        CHECK(holds(engine.describe(), R"("with":"d3d12")"));
        CHECK(Shim::it().detach(engine.get()) == SOTTO_OK);
        Shim::it().unload();
        CHECK(unity.misuses == 0);
    }
}

TEST_CASE("engines come and go with 200 queues of Unity, each a real one") {
    const auto& shim = Shim::it();
    const Loaded loaded;
    const Engine engine;
    for (int cycle = 0; cycle < kCycles; ++cycle) {
        ID3D12CommandQueue* queue = Device::it().make_queue();
        show(loaded.unity, queue);
        loaded.unity.send(cycle % 2 == 0 ? kInitialize : kAfterReset);
        REQUIRE(shim.describe().state == SOTTO_UNITY_STATE_READY);
        REQUIRE(shim.describe().cig_prepared == 1);
        REQUIRE(engine.attach() == SOTTO_GPU_SHARING_CPU);
        loaded.unity.send(cycle % 2 == 0 ? kBeforeReset : kShutdown);
        REQUIRE(!engine.is_attached());
        queue->Release();
    }
}

TEST_CASE("what is no queue of Direct3D 12 is refused by the library, with its reason") {
    const auto& shim = Shim::it();
    const Loaded loaded;
    show(loaded.unity, Device::it().queue);
    loaded.unity.d3d12_queue = Device::it().device;
    loaded.unity.send(kInitialize);
    const Engine engine;
    CHECK(shim.attach(engine.get(), SOTTO_GPU_SHARING_NONE, nullptr) == SOTTO_ERROR_ARGUMENT);
    CHECK_MESSAGE(holds(shim.error(), "invalid d3d12->queue: expected an ID3D12CommandQueue"), shim.error());
}
