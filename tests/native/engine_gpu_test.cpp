// An engine that shares a card, on doubles of its drivers: what models live in, and that they survive its
// loss.
#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/card.hpp"
#include "support/game.hpp"
#include "support/session.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

const char* const kEndless = R"({"tokens": ["a"], "loop": true, "prompt_tokens": 1})";

// A renderer on Direct3D 12, as a host hands it over.
struct Handed {
    explicit Handed(unsigned card = 1) {
        d3d12.device = VulkanDouble::handle(41);
        d3d12.queue = VulkanDouble::handle(40);
        d3d12.luid = luid(card);
        gpu.d3d12 = &d3d12;
    }
    Handed(const Handed&) = delete;
    Handed& operator=(const Handed&) = delete;

    sotto_gpu_d3d12 d3d12 = SOTTO_INIT(sotto_gpu_d3d12);
    sotto_gpu_desc gpu = SOTTO_INIT(sotto_gpu_desc);
};

// A backend that computes with CUDA, as far as an engine can see, and looks whether it could.
class OnCard {
public:
    explicit OnCard(const CudaDouble& cuda) : cuda_(cuda) {
        backend.tap = [this](Point point, const sotto_step*) {
            const bool current = cuda_.get("depth") == 1;
            ++(current ? inside : outside);
            if (point == Point::step && hold.load()) {
                gate.pass();
            }
        };
        table = backend.table();
        table.name = str("oncard");
        table.uses = SOTTO_BACKEND_CUDA;
    }

    TappedBackend backend;
    sotto_backend table;
    std::atomic<int> inside{0};  // calls with a context current
    std::atomic<int> outside{0}; // and without
    std::atomic<bool> hold{false};
    Gate gate; // of steps, where they are held

private:
    const CudaDouble& cuda_;
};

Json shown(const Game& game) {
    sotto_str json{};
    REQUIRE(sotto_engine_describe(game.engine(), &json) == SOTTO_OK);
    return Json::parse(text_of(json))["gpu"];
}

sotto_gpu_rung attach(const Game& game, const Handed& handed) {
    sotto_gpu_rung rung = -1;
    const auto status = sotto_engine_attach_gpu(game.engine(), &handed.gpu, &rung);
    CHECK_MESSAGE(status == SOTTO_OK, last_error());
    std::printf("rung: %s\n", sotto::to_text(shown(game)).c_str());
    return rung;
}

std::string state_of(const Game& game, std::size_t index = 0) {
    sotto_str json{};
    REQUIRE(sotto_engine_memory(game.engine(), &json) == SOTTO_OK);
    return Json::parse(text_of(json))["models"][index]["state"];
}

} // namespace

TEST_CASE("models of a CUDA backend live in the context, on every thread that touches them") {
    const CudaDouble cuda;
    OnCard card(cuda);
    {
        Game game(card.table);
        const Handed handed;
        CHECK(attach(game, handed) == SOTTO_GPU_RUNG_CIG);
        const auto gpu = shown(game);
        CHECK(gpu["rung"] == "cig");
        CHECK(gpu["with"] == "d3d12");
        CHECK(gpu["card"]["name"] == "Double 1");
        CHECK(gpu["card"]["luid"] == luid(1));
        CHECK(gpu["driver"] == "13.0");
        CHECK(gpu["shared_memory"] == 49152);
        CHECK(gpu["priority"] == 0);
        CHECK(gpu["not_taken"].empty());
        CHECK(gpu["backends"] == Json::array({"oncard"}));
        game.have("npc", R"({"prompt_tokens": 4, "load_ms": 1})");
        CHECK(card.backend.devices() == std::vector<std::string>{"cuda"});
        CHECK(said(game.finish(game.ask("npc", "hello there"))) == "hello there");
        game.finish(game.unload("npc"));
        CHECK(card.inside.load() > 4);
        CHECK(card.outside.load() == 0);
        game.have("npc"); // and is there when the engine goes
    }
    CHECK(card.outside.load() == 0);
    cuda.check_clean();
}

TEST_CASE("a backend that does not compute with CUDA is left alone, and no context made for nobody") {
    const CudaDouble cuda;
    Game game; // on the scripted backend
    const Handed handed;
    CHECK(attach(game, handed) == SOTTO_GPU_RUNG_CPU);
    CHECK(cuda.get("calls") == 0);
    const auto gpu = shown(game);
    CHECK(gpu["rung"] == "cpu");
    CHECK(gpu["card"].is_null());
    CHECK(gpu["driver"].is_null());
    CHECK(gpu["backends"].empty());
    REQUIRE(gpu["not_taken"].size() == 3);
    CHECK(gpu["not_taken"][0] == Json({{"rung", "cig"}, {"why", "no backend here computes with CUDA"}}));
    CHECK(gpu["not_taken"][2]["rung"] == "vulkan");
    game.have("npc");
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "hi");
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_EMPTY);
}

TEST_CASE("a card that is lost takes no character with it") {
    const CudaDouble cuda;
    OnCard card(cuda);
    Game game(card.table);
    const Handed handed;
    CHECK(attach(game, handed) == SOTTO_GPU_RUNG_CIG);
    game.have("npc", R"({"prompt_tokens": 1, "batchable": true})");
    Session mara(game, "mara");
    CHECK(mara.turn("first") == "first");
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    cuda.check_clean(); // the queue may go
    CHECK(shown(game).is_null());
    CHECK(state_of(game) == "asleep");
    CHECK(mara.turn("second") == "second"); // on the processor
    CHECK(card.backend.devices() == std::vector<std::string>{"cuda", "cpu"});
    CHECK(attach(game, handed) == SOTTO_GPU_RUNG_CIG); // a new queue
    CHECK(game.until([&] { return state_of(game) == "asleep"; }));
    CHECK(mara.turn("third") == "third");
    CHECK(card.backend.devices() == std::vector<std::string>{"cuda", "cpu", "cuda"});
    CHECK(mara.lines().size() == 6);
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    cuda.check_clean();
}

TEST_CASE("answers under way on the card end, and are asked for again; those elsewhere go on") {
    const CudaDouble cuda;
    OnCard card(cuda);
    Game game; // whose scripted backend is on the processor
    REQUIRE(sotto_engine_add_backend(game.engine(), &card.table) == SOTTO_OK);
    const Handed handed;
    CHECK(attach(game, handed) == SOTTO_GPU_RUNG_CIG);
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str("there");
    desc.backend = str("oncard");
    desc.options = str(kEndless);
    sotto_request loading = 0;
    REQUIRE(sotto_engine_load_model(game.engine(), &desc, &loading) == SOTTO_OK);
    game.finish(loading);
    game.have("here", kEndless);
    const auto there = game.ask("there", "hi");
    const auto here = game.ask("here", "hi");
    game.until_told(there, SOTTO_EVENT_TEXT);
    game.until_told(here, SOTTO_EVENT_TEXT);
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    cuda.check_clean();
    const auto end = done(game.finish(there));
    CHECK(end.status == SOTTO_ERROR_CANCELLED);
    CHECK(end.text == "the graphics card was detached; ask again");
    game.until_told(here, SOTTO_EVENT_TEXT, count(game.of(here), SOTTO_EVENT_TEXT) + 3);
    game.cancel(here);
    const auto again = game.ask("there", "hi"); // wakes it
    game.until_told(again, SOTTO_EVENT_TEXT);
    CHECK(card.backend.devices().back() == "cpu");
    game.cancel(again);
    game.finish(again);
}

TEST_CASE("a driver that fails while a model runs fails that answer, and leaves no context current") {
    const CudaDouble cuda;
    OnCard card(cuda);
    Game game(card.table);
    const Handed handed;
    CHECK(attach(game, handed) == SOTTO_GPU_RUNG_CIG);
    game.have("npc", R"({"tokens": ["a", "b", "c"], "prompt_tokens": 1})");
    for (const char* call : {"cuCtxPushCurrent_v2", "cuCtxGetCurrent", "cuCtxPopCurrent_v2"}) {
        CAPTURE(call);
        cuda.fail(call, 2);
        const auto end = done(game.finish(game.ask("npc", "hi")));
        const bool harmless = std::string(call) == "cuCtxPopCurrent_v2"; // it is taken off otherwise
        CHECK((end.status == SOTTO_OK || !harmless));
        CHECK((end.status == SOTTO_OK || end.text.find("CUDA_ERROR_UNKNOWN") != std::string::npos));
        CHECK(said(game.finish(game.ask("npc", "hi"))) == "abc");
    }
    CHECK(card.outside.load() <= 2); // streams are closed all the same
    game.end();
    cuda.check_clean();
}

TEST_CASE("cards come and go two hundred times, and nothing grows") {
    const CudaDouble cuda;
    OnCard card(cuda);
    Game game(card.table);
    const Handed handed;
    game.have("npc", R"({"prompt_tokens": 1})");
    for (int i = 0; i < 200; ++i) {
        sotto_gpu_rung rung = 0;
        REQUIRE(sotto_engine_attach_gpu(game.engine(), &handed.gpu, &rung) == SOTTO_OK);
        CHECK(rung == SOTTO_GPU_RUNG_CIG);
        CHECK(cuda.get("contexts") == 1);
        if (i % 20 == 0) {
            CHECK(said(game.finish(game.ask("npc", "hi"))) == "hi");
        }
        REQUIRE(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
        CHECK(cuda.get("contexts") == 0);
    }
    CHECK(card.outside.load() > 0); // it was on the processor first
    cuda.check_clean();
}

TEST_CASE("two engines on one queue share its context; it goes with the last of them") {
    const CudaDouble cuda;
    OnCard first(cuda);
    OnCard second(cuda);
    Game one(first.table);
    Game two(second.table);
    const Handed handed;
    CHECK(attach(one, handed) == SOTTO_GPU_RUNG_CIG);
    CHECK(attach(two, handed) == SOTTO_GPU_RUNG_CIG);
    CHECK(cuda.get("contexts") == 1);
    one.have("npc");
    two.have("npc");
    const auto asked = one.ask("npc", "hi");
    CHECK(said(two.finish(two.ask("npc", "ho"))) == "ho");
    CHECK(said(one.finish(asked)) == "hi");
    CHECK(sotto_engine_detach_gpu(one.engine()) == SOTTO_OK);
    CHECK(cuda.get("contexts") == 1);
    CHECK(said(two.finish(two.ask("npc", "hey"))) == "hey");
    two.end();
    cuda.check_clean();
}

TEST_CASE("one of many threads attaches, and an engine may end meanwhile") {
    const CudaDouble cuda;
    OnCard card(cuda);
    const Handed handed;
    for (int round = 0; round < 10; ++round) {
        Game game(card.table);
        game.have("npc", R"({"prompt_tokens": 1})");
        auto* engine = game.engine();
        std::atomic<int> odd{0};
        std::atomic<int> attached{0};
        std::vector<std::thread> threads;
        for (int i = 0; i < 6; ++i) {
            threads.emplace_back([&, i] {
                for (;;) {
                    const auto status = i % 3 == 2 ? sotto_engine_detach_gpu(engine)
                                                   : sotto_engine_attach_gpu(engine, &handed.gpu, nullptr);
                    attached += i % 3 != 2 && status == SOTTO_OK;
                    if (status == SOTTO_ERROR_ARGUMENT) {
                        return; // it is gone
                    }
                    odd += status < 0 && status != SOTTO_ERROR_STATE;
                }
            });
        }
        while (attached.load() < 3) {
            std::this_thread::yield();
        }
        game.end();
        for (auto& thread : threads) {
            thread.join();
        }
        CHECK(odd.load() == 0);
        cuda.check_clean();
    }
}

TEST_CASE("a card may be handed over when an engine is made, or that refused") {
    const CudaDouble cuda;
    Handed handed;
    auto desc = plain_desc();
    desc.gpu = &handed.gpu;
    {
        const Game game(desc);
        CHECK(shown(game)["rung"] == "cpu");
        sotto_gpu_rung rung = 7;
        CHECK(sotto_engine_attach_gpu(game.engine(), &handed.gpu, &rung) == SOTTO_ERROR_STATE);
        CHECK(rung == SOTTO_GPU_RUNG_NONE);
        CHECK(last_error() == "a card is shared already; call sotto_engine_detach_gpu() before the next");
    }
    handed.gpu.least = SOTTO_GPU_RUNG_VULKAN;
    sotto_engine* engine = nullptr;
    CHECK(sotto_engine_create(&desc, &engine) == SOTTO_ERROR_UNSUPPORTED);
    CHECK(engine == nullptr);
    CHECK(last_error().find("gpu->least asks for vulkan, and cpu is what can be had; cig: no backend") == 0);
    std::printf("refused: %s\n", last_error().c_str());
}

TEST_CASE("what is not one whole renderer is refused in words") {
    const CudaDouble cuda;
    const VulkanDouble doubled;
    OnCard card(cuda);
    const Game game(card.table);
    const auto refused = [&](const std::function<void(Handed&)>& change, const std::string& why) {
        Handed handed;
        change(handed);
        CHECK(sotto_engine_attach_gpu(game.engine(), &handed.gpu, nullptr) == SOTTO_ERROR_ARGUMENT);
        CHECK(last_error() == why);
    };
    auto vulkan = VulkanDouble::renderer();
    auto cuda_desc = SOTTO_INIT(sotto_gpu_cuda);
    const std::string one = " of gpu->d3d12, gpu->vulkan and gpu->cuda are there; hand over one";
    refused([](Handed& h) { h.gpu.d3d12 = nullptr; }, "0" + one);
    refused([&](Handed& h) { h.gpu.vulkan = &vulkan; }, "2" + one);
    refused(
        [](Handed& h) { h.gpu.least = 5; }, "gpu->least is 5; it must be one of the SOTTO_GPU_RUNG_ values"
    );
    refused([](Handed& h) { h.gpu.struct_size = 0; }, "gpu->struct_size was not set");
    refused([](Handed& h) { h.d3d12.struct_size = 0; }, "gpu->d3d12->struct_size was not set");
    refused([](Handed& h) { h.d3d12.queue = nullptr; }, "d3d12->queue is NULL");
    refused([](Handed& h) { h.d3d12.device = nullptr; }, "d3d12->device is NULL");
    refused(
        [&](Handed& h) {
            h.gpu.d3d12 = nullptr;
            h.gpu.cuda = &cuda_desc;
        },
        "cuda->context is NULL"
    );
    vulkan.device = nullptr;
    refused(
        [&](Handed& h) {
            h.gpu.d3d12 = nullptr;
            h.gpu.vulkan = &vulkan;
        },
        "vulkan->device is NULL"
    );
    CHECK(shown(game).is_null());
    cuda.check_clean();
}

TEST_CASE("cards are described before there is an engine, with what they can't and why") {
    const CudaDouble cuda;
    auto info = SOTTO_INIT(sotto_gpu_info);
    REQUIRE(sotto_gpu_query(0, &info) == SOTTO_OK);
    CHECK(text_of(info.name) == "Double 0");
    CHECK(info.capability == 89);
    CHECK(info.vram == std::uint64_t{8} << 30);
    CHECK(info.luid == luid(0));
    CHECK(info.cig_d3d12 == 0);
    CHECK(text_of(info.cig_d3d12_why).find("the driver says that it can't (attribute 135 is 0)") == 0);
    CHECK(text_of(info.cig_vulkan_why).find("the driver says that it can't (attribute 138 is 0)") == 0);
    REQUIRE(sotto_gpu_query(1, &info) == SOTTO_OK);
    CHECK(text_of(info.uuid) == "10111213-1415-1617-1819-1a1b1c1d1e1f");
    CHECK(text_of(info.driver) == "13.0");
    CHECK(info.cig_d3d12 == 1);
    CHECK(info.cig_vulkan == 1);
    CHECK(info.cig_vulkan_why.size == 0);
    CHECK(sotto_gpu_query(2, &info) == SOTTO_EMPTY);
    CHECK(text_of(info.why) == "the CUDA driver knows of 2 cards; there is no card 2");
    CHECK(info.name.size == 0);
    cuda.fail("cuInit", 1, 999);
    CHECK(sotto_gpu_query(0, &info) == SOTTO_EMPTY);
    CHECK(text_of(info.why) == "cuInit: CUDA_ERROR_UNKNOWN");
}

TEST_CASE("a renderer on Vulkan is told what to make its device with") {
    const VulkanDouble doubled;
    auto vulkan = VulkanDouble::renderer();
    vulkan.device = vulkan.queue = nullptr; // there is none yet
    auto needs = SOTTO_INIT(sotto_gpu_vulkan_needs);
    REQUIRE(sotto_gpu_query_vulkan(&vulkan, &needs) == SOTTO_OK);
    REQUIRE(needs.extension_count == 1);
    CHECK(std::string(needs.extensions[0]) == "VK_NV_external_compute_queue");
    const auto& device = *static_cast<const sotto::gpu::vk::ExternalDeviceInfo*>(needs.next);
    CHECK(device.type == sotto::gpu::vk::kExternalDeviceInfo);
    CHECK(device.next == nullptr);
    CHECK(device.reserved_queues == 1);
    VulkanDouble::it().extension = false;
    CHECK(sotto_gpu_query_vulkan(&vulkan, &needs) == SOTTO_EMPTY);
    CHECK(needs.extension_count == 0);
    CHECK(needs.next == nullptr);
    CHECK(text_of(needs.why).find("the Vulkan device has no VK_NV_external_compute_queue") == 0);
    vulkan.physical_device = vulkan.instance;
    CHECK(sotto_gpu_query_vulkan(&vulkan, &needs) == SOTTO_ERROR_ARGUMENT);
    CHECK(last_error() == "vulkan->physical_device is none of the devices of vulkan->instance");
}
