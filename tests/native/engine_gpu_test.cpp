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
#include "support/handed.hpp"
#include "support/session.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

const char* const kEndless = R"({"tokens": ["a"], "loop": true, "prompt_tokens": 1})";

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

TEST_CASE("a device that is lost in the middle of an answer ends that, and no more") {
    const CudaDouble cuda;
    OnCard card(cuda);
    Game game(card.table);
    const Handed handed;
    CHECK(attach(game, handed) == SOTTO_GPU_RUNG_CIG);
    game.have("npc", R"({"prompt_tokens": 1})");
    Session mara(game, "mara");
    CHECK(mara.turn("first") == "first");
    game.have("endless", kEndless);
    const auto asked = game.ask("endless", "hi");
    game.until_told(asked, SOTTO_EVENT_TEXT);
    cuda.set("lost", 1);
    const auto end = done(game.finish(asked));
    CHECK(end.status == SOTTO_ERROR_INFERENCE);
    CHECK(end.text == "cuCtxGetCurrent: CUDA_ERROR_LAUNCH_FAILED");
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    CHECK(attach(game, handed) == SOTTO_GPU_RUNG_CPU); // it is gone
    CHECK(shown(game)["not_taken"][0]["why"] == "cuInit: CUDA_ERROR_LAUNCH_FAILED");
    CHECK(mara.turn("second") == "second");
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    cuda.set("lost", 0);
    cuda.check_clean();
    CHECK(attach(game, handed) == SOTTO_GPU_RUNG_CIG); // it is back
    CHECK(mara.turn("third") == "third");
}

TEST_CASE("a model that speaks when a card comes goes there once it is done") {
    const CudaDouble cuda;
    OnCard card(cuda);
    Game game(card.table);
    const Handed handed;
    game.have("npc", kEndless);
    const auto asked = game.ask("npc", "hi");
    game.until_told(asked, SOTTO_EVENT_TEXT);
    CHECK(attach(game, handed) == SOTTO_GPU_RUNG_CIG);
    game.until_told(asked, SOTTO_EVENT_TEXT, count(game.of(asked), SOTTO_EVENT_TEXT) + 3);
    CHECK(state_of(game) == "ready");
    game.cancel(asked);
    game.finish(asked);
    CHECK(game.until([&] { return state_of(game) == "asleep"; }));
    const auto again = game.ask("npc", "hi");
    game.until_told(again, SOTTO_EVENT_TEXT);
    CHECK(card.backend.devices() == std::vector<std::string>{"cpu", "cuda"});
    game.cancel(again);
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
