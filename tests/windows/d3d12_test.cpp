// What a renderer on Direct3D 12 hands over: taken for what it is, on a real device and queue.
#include <cstdint>
#include <string>
#include <utility>

#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <d3d12.h>
#include <doctest/doctest.h>
#include <dxgi1_4.h>

#include "../native/support/rung.hpp"
#include <sotto/sotto.h>

namespace {

// A device of the first card, whose queues are made as they are asked for. All live until the process ends.
struct Device {
    IDXGIAdapter1* adapter = nullptr;
    ID3D12Device* device = nullptr;

    Device() {
        IDXGIFactory4* factory = nullptr;
        REQUIRE(SUCCEEDED(CreateDXGIFactory1(IID_PPV_ARGS(&factory))));
        REQUIRE(SUCCEEDED(factory->EnumAdapters1(0, &adapter)));
        REQUIRE(SUCCEEDED(D3D12CreateDevice(adapter, D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&device))));
    }

    ID3D12CommandQueue* queue(D3D12_COMMAND_LIST_TYPE type = D3D12_COMMAND_LIST_TYPE_DIRECT) const {
        D3D12_COMMAND_QUEUE_DESC desc{};
        desc.Type = type;
        ID3D12CommandQueue* made = nullptr;
        REQUIRE(SUCCEEDED(device->CreateCommandQueue(&desc, IID_PPV_ARGS(&made))));
        return made;
    }

    std::uint64_t luid() const {
        DXGI_ADAPTER_DESC1 desc{};
        REQUIRE(SUCCEEDED(adapter->GetDesc1(&desc)));
        return static_cast<std::uint64_t>(static_cast<std::uint32_t>(desc.AdapterLuid.HighPart)) << 32 |
               desc.AdapterLuid.LowPart;
    }
};

struct Engine {
    sotto_engine* engine = nullptr;

    Engine() {
        const auto desc = SOTTO_INIT(sotto_engine_desc);
        REQUIRE(sotto_engine_create(&desc, &engine) == SOTTO_OK);
    }
    ~Engine() { sotto_engine_destroy(engine); }
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // The status, and why not.
    std::pair<sotto_status, std::string> attach(
        void* device, void* queue, std::uint64_t luid = 0, sotto_gpu_sharing least = SOTTO_GPU_SHARING_NONE
    ) const {
        auto shown = SOTTO_INIT(sotto_gpu_d3d12);
        shown.device = device;
        shown.queue = queue;
        shown.luid = luid;
        auto gpu = SOTTO_INIT(sotto_gpu_desc);
        gpu.d3d12 = &shown;
        gpu.min_sharing = least;
        sotto_gpu_sharing rung = SOTTO_GPU_SHARING_NONE;
        const auto status = sotto_engine_attach_gpu(engine, &gpu, &rung);
        if (status == SOTTO_OK) {
            CHECK(rung == SOTTO_GPU_SHARING_CPU); // Wine has no CUDA
            test::tell_rung("cpu");
            return {status, ""};
        }
        const auto why = sotto_last_error();
        return {status, {why.data, why.size}};
    }
    std::string told(sotto_status(SOTTO_CALL* tell)(sotto_engine*, sotto_str*)) const {
        sotto_str json{};
        REQUIRE(tell(engine, &json) == SOTTO_OK);
        return {json.data, json.size};
    }
};

bool holds(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace

TEST_CASE("a device and its direct queue are taken; why CiG cannot be had is told, and it goes again") {
    const Device card;
    const Engine engine;
    auto* queue = card.queue();
    for (int turn = 0; turn < 3; ++turn) {
        CHECK(engine.attach(card.device, queue, turn == 1 ? card.luid() : 0).first == SOTTO_OK);
        const auto told = engine.told(sotto_engine_describe);
        CAPTURE(told);
        CHECK(holds(told, R"("rung":"cpu")"));
        CHECK(holds(told, R"("rung":"cig")"));
        CHECK(sotto_engine_detach_gpu(engine.engine) == SOTTO_OK);
    }
    const auto [status, why] = engine.attach(card.device, queue, 0, SOTTO_GPU_SHARING_CIG);
    CHECK(status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(holds(why, "invalid gpu->min_sharing 'cig'"));
    MESSAGE(why);
}

TEST_CASE("what is no device, no queue, or a queue of another kind or device is refused by name") {
    const Device card;
    const Device other;
    const Engine engine;
    auto* queue = card.queue();
    const auto refused = [&](const std::pair<sotto_status, std::string>& told, const char* part) {
        CAPTURE(told.second);
        CHECK(told.first == SOTTO_ERROR_ARGUMENT);
        CHECK(holds(told.second, part));
    };
    refused(engine.attach(queue, queue), "invalid d3d12->device: expected an ID3D12Device");
    std::uintptr_t no_object[] = {8, 0};
    std::uintptr_t no_function[] = {reinterpret_cast<std::uintptr_t>(no_object), 0};
    auto* const nowhere = reinterpret_cast<void*>(std::uintptr_t{8});
    for (void* wrong : {static_cast<void*>(no_object), static_cast<void*>(no_function), nowhere}) {
        refused(engine.attach(wrong, queue), "invalid d3d12->device: expected an ID3D12Device");
        refused(engine.attach(card.device, wrong), "invalid d3d12->queue: expected an ID3D12CommandQueue");
    }
    refused(engine.attach(card.device, card.device), "invalid d3d12->queue: expected an ID3D12CommandQueue");
    refused(engine.attach(card.device, card.queue(D3D12_COMMAND_LIST_TYPE_COPY)), "expected type DIRECT");
    refused(engine.attach(card.device, nullptr), "d3d12->queue");
    refused(engine.attach(card.device, queue, card.luid() + 1), "invalid d3d12->luid ");
    if (other.device != card.device) { // Windows hands out one device for each card, Wine may not
        refused(engine.attach(card.device, other.queue()), "expected a queue of d3d12->device");
    }
}

TEST_CASE("what Windows grants of the card's memory is told beside the ledger") {
    const Device card;
    const Engine engine;
    const auto told = engine.told(sotto_engine_memory);
    CAPTURE(told);
    CHECK(holds(told, "\"luid\":" + std::to_string(card.luid()) + ","));
    CHECK(holds(told, "\"budget\":"));
}
