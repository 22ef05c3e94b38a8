// A renderer on Direct3D 12 hands its device and queue to the engine, and a character speaks.
//
//     clang++ share_d3d12.cpp -I include -L LIBRARY_FOLDER -lsotto -ld3d12 -ldxgi -o share_d3d12.exe
//     share_d3d12 [MODEL.gguf]
//
// What it prints first says how closely the card is shared, and why not closer ("not_taken" in "gpu").
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <cstdint>
#include <cstdio>

#include <d3d12.h>
#include <dxgi1_4.h>

#include <sotto/sotto.h>

namespace {

constexpr const char* kNames[] = {"nothing", "the processor", "Vulkan", "CUDA, at low priority", "CiG"};
constexpr const char* kQuestion =
    R"({"model": "npc", "max_tokens": 32, "temperature": 0, "messages": [
        {"role": "system", "content": "Name: Mara\nRole: healer\nManner: gruff\nPlace: Millbrook"},
        {"role": "user", "content": "Who are you?"}]})";

// What a renderer has anyway; it lives until the process ends.
struct Renderer {
    IDXGIFactory4* factory = nullptr;
    IDXGIAdapter1* adapter = nullptr;
    ID3D12Device* device = nullptr;
    ID3D12CommandQueue* queue = nullptr;

    bool make() {
        D3D12_COMMAND_QUEUE_DESC desc{};
        desc.Type = D3D12_COMMAND_LIST_TYPE_DIRECT;
        return SUCCEEDED(CreateDXGIFactory1(IID_PPV_ARGS(&factory))) &&
               SUCCEEDED(factory->EnumAdapters1(0, &adapter)) &&
               SUCCEEDED(D3D12CreateDevice(adapter, D3D_FEATURE_LEVEL_11_0, IID_PPV_ARGS(&device))) &&
               SUCCEEDED(device->CreateCommandQueue(&desc, IID_PPV_ARGS(&queue)));
    }
};

int fail(const char* doing) {
    const sotto_str why = sotto_last_error();
    std::fprintf(stderr, "%s: %.*s\n", doing, static_cast<int>(why.size), why.data);
    return 1;
}

// Prints what a request says until it is done. A game polls once a frame instead: frame_loop.c.
sotto_status follow(sotto_engine* engine, sotto_request request) {
    sotto_event event = SOTTO_INIT(sotto_event);
    while (event.kind != SOTTO_EVENT_REQUEST_DONE) {
        if (sotto_engine_wait_request_event(engine, request, -1, &event) < 0) {
            return SOTTO_ERROR_STATE;
        }
        if (event.kind == SOTTO_EVENT_TEXT || event.status < 0) {
            std::printf("%.*s", static_cast<int>(event.text.size), event.text.data);
        }
    }
    std::printf("\n");
    return event.status;
}

} // namespace

int main(int argc, char** argv) {
    Renderer renderer;
    if (!renderer.make()) {
        std::fprintf(stderr, "no Direct3D 12 device was found\n");
        return 2;
    }
    sotto_engine_desc desc = SOTTO_INIT(sotto_engine_desc);
    sotto_engine* engine = nullptr;
    if (sotto_engine_create(&desc, &engine) < 0) {
        return fail("create");
    }

    sotto_gpu_d3d12 shown = SOTTO_INIT(sotto_gpu_d3d12);
    shown.device = renderer.device;
    shown.queue = renderer.queue;
    sotto_gpu_desc gpu = SOTTO_INIT(sotto_gpu_desc);
    gpu.d3d12 = &shown;
    sotto_gpu_sharing rung = SOTTO_GPU_SHARING_NONE;
    if (sotto_engine_attach_gpu(engine, &gpu, &rung) < 0) {
        return fail("attach");
    }
    sotto_str told{};
    sotto_engine_describe(engine, &told);
    std::printf("models run on %s\n%.*s\n", kNames[rung], static_cast<int>(told.size), told.data);
    sotto_engine_memory(engine, &told);
    std::printf("%.*s\n", static_cast<int>(told.size), told.data);

    sotto_model_desc model = SOTTO_INIT(sotto_model_desc);
    model.id = {"npc", SOTTO_NUL};
    model.path = {argc > 1 ? argv[1] : "house.gguf", SOTTO_NUL};
    model.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request_desc ask = SOTTO_INIT(sotto_request_desc);
    ask.op = SOTTO_OP_CHAT;
    ask.body = {kQuestion, SOTTO_NUL};
    ask.flags = SOTTO_REQUEST_PRIVATE;
    sotto_request request = 0;
    if (sotto_engine_load_model(engine, &model, &request) < 0 || follow(engine, request) < 0 ||
        sotto_engine_submit(engine, &ask, &request) < 0 || follow(engine, request) < 0) {
        return fail("ask");
    }
    sotto_engine_detach_gpu(engine); // before the device and the queue go
    sotto_engine_destroy(engine);
    return 0;
}
