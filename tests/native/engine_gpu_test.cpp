// An engine with an attached GPU, on fake drivers: contexts, threads and leaks.
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>
#include <malloc.h>

#include "support/on_card.hpp"

using namespace test;

namespace {

std::size_t bytes_of_heap() {
    return mallinfo2().uordblks;
}

} // namespace

TEST_CASE("a CUDA backend's models use the attached context on every thread") {
    const CudaDouble cuda;
    OnCard card(cuda);
    {
        Game game(card.table);
        const Handed handed;
        CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
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
        game.have("npc"); // and is still loaded when the engine is destroyed
    }
    CHECK(card.outside.load() == 0);
    cuda.check_clean();
}

TEST_CASE("no CUDA context is created for a backend without CUDA") {
    const CudaDouble cuda;
    Game game; // on the scripted backend
    const Handed handed;
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CPU);
    CHECK(cuda.get("calls") == 0);
    const auto gpu = shown(game);
    CHECK(gpu["rung"] == "cpu");
    CHECK(gpu["card"].is_null());
    CHECK(gpu["driver"].is_null());
    CHECK(gpu["backends"].empty());
    REQUIRE(gpu["not_taken"].size() == 3);
    CHECK(gpu["not_taken"][0] == Json({{"rung", "cig"}, {"reason", "no backend here computes with CUDA"}}));
    CHECK(gpu["not_taken"][2]["rung"] == "vulkan");
    game.have("npc");
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "hi");
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_ERROR_STATE);
}

TEST_CASE("a busy model moves to a newly attached GPU after its answer") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    game.have("npc", kEndless);
    const auto asked = game.ask("npc", "hi");
    game.until_told(asked, SOTTO_EVENT_TEXT);
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    game.until_told(asked, SOTTO_EVENT_TEXT, count(game.of(asked), SOTTO_EVENT_TEXT) + 3);
    CHECK(state_of(game) == "ready");
    game.cancel(asked);
    game.finish(asked);
    CHECK(game.until([&] { return state_of(game) == "evicted"; }));
    const auto again = game.ask("npc", "hi");
    game.until_told(again, SOTTO_EVENT_TEXT);
    CHECK(card.backend.devices() == std::vector<std::string>{"cpu", "cuda"});
    game.cancel(again);
}

TEST_CASE("a driver failure during a step fails that answer, and leaves no context current") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    game.have("npc", R"({"tokens": ["a", "b", "c"], "prompt_tokens": 1})");
    for (const char* call : {"cuCtxPushCurrent_v2", "cuCtxGetCurrent", "cuCtxPopCurrent_v2"}) {
        CAPTURE(call);
        cuda.fail(call, 2);
        const auto end = done(game.finish(game.ask("npc", "hi")));
        // the context is then removed in another way
        const bool harmless = std::string(call) == "cuCtxPopCurrent_v2";
        CHECK((end.status == SOTTO_OK || !harmless));
        CHECK((end.status == SOTTO_OK || end.error.find("CUDA_ERROR_UNKNOWN") != std::string::npos));
        CHECK(said(game.finish(game.ask("npc", "hi"))) == "abc");
    }
    CHECK(card.outside.load() <= 2); // streams are closed nevertheless
    game.end();
    cuda.check_clean();
}

TEST_CASE("each driver call that fails, at each point of an engine's life, is reported and leaks nothing") {
    const CudaDouble cuda;
    const Handed handed;
    int places = 0;
    int failures = 0; // failures that were reported
    for (bool failed = true; failed; ++places) {
        CAPTURE(places);
        cuda.set("reset", 2);
        cuda.fail("*", places + 1);
        OnCard card(cuda);
        Game game(card.table);
        REQUIRE(sotto_engine_attach_gpu(game.engine(), &handed.gpu, nullptr) == SOTTO_OK);
        const auto well = [&](const Told& end) {
            CHECK((end.status == SOTTO_OK || end.error.find("CUDA_ERROR_UNKNOWN") != std::string::npos));
            failures += end.status != SOTTO_OK;
            return end.status == SOTTO_OK;
        };
        if (!well(done(game.finish(game.load("npc", R"({"prompt_tokens": 1})"))))) {
            game.have("npc", R"({"prompt_tokens": 1})");
        }
        well(done(game.finish(game.ask("npc", "hi"))));
        CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
        CHECK(said(game.finish(game.ask("npc", "hey"))) == "hey");
        game.end();
        failed = cuda.get("failures") > 0;
        cuda.set("forgive", 1);
        cuda.check_clean();
    }
    CHECK(places > 40);
    CHECK(failures > 3);
}

TEST_CASE("two hundred attach and detach cycles leak nothing") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    game.have("npc", R"({"prompt_tokens": 1})");
    std::size_t bytes = 0;
    for (int i = 0; i < 200; ++i) {
        bytes = i == 20 ? bytes_of_heap() : bytes; // one-time allocations are done by then
        sotto_gpu_sharing rung = 0;
        REQUIRE(sotto_engine_attach_gpu(game.engine(), &handed.gpu, &rung) == SOTTO_OK);
        CHECK(rung == SOTTO_GPU_SHARING_CIG);
        CHECK(cuda.get("contexts") == 1);
        if (i % 20 == 0) {
            CHECK(said(game.finish(game.ask("npc", "hi"))) == "hi");
        }
        REQUIRE(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
        CHECK(cuda.get("contexts") == 0);
    }
    CHECK(bytes_of_heap() < bytes + 64 * 1024); // tolerance: includes kept events
    CHECK(card.outside.load() > 0);             // it was on the CPU first
    cuda.check_clean();
}

TEST_CASE("two engines on one queue share its context until the last one is destroyed") {
    const CudaDouble cuda;
    OnCard first(cuda);
    OnCard second(cuda);
    Game one(first.table);
    Game two(second.table);
    const Handed handed;
    CHECK(attach(one, handed) == SOTTO_GPU_SHARING_CIG);
    CHECK(attach(two, handed) == SOTTO_GPU_SHARING_CIG);
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

TEST_CASE("threads attach and detach concurrently, and the engine may be destroyed meanwhile") {
    const CudaDouble cuda;
    OnCard card(cuda);
    const Handed handed;
    for (int round = 0; round < 10; ++round) {
        Game game(card.table);
        game.have("npc", kEndless);
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
                        return; // the engine was destroyed
                    }
                    odd += status < 0 && status != SOTTO_ERROR_STATE;
                }
            });
        }
        auto asked = game.ask("npc", "hi");
        while (attached.load() < 3) { // requests an answer again whenever an attach or detach ends it
            game.drain();
            if (const auto& told = game.of(asked);
                !told.empty() && told.back().kind == SOTTO_EVENT_REQUEST_DONE) {
                CHECK(told.back().error == "the device was detached: submit the request again");
                asked = game.ask("npc", "hi");
            }
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
