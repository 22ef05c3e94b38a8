// A GPU that is detached, or whose device is lost: no session is lost with it.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/on_card.hpp"
#include "support/session.hpp"

using namespace test;

TEST_CASE("a lost GPU ends no session") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    game.have("npc", R"({"prompt_tokens": 1, "batchable": true})");
    Session mara(game, "mara");
    CHECK(mara.turn("first") == "first");
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    cuda.check_clean(); // the queue may be destroyed
    CHECK(shown(game).is_null());
    CHECK(state_of(game) == "evicted");
    CHECK(mara.turn("second") == "second"); // on the CPU
    CHECK(card.backend.devices() == std::vector<std::string>{"cuda", "cpu"});
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG); // a new queue
    CHECK(game.until([&] { return state_of(game) == "evicted"; }));
    CHECK(mara.turn("third") == "third");
    CHECK(card.backend.devices() == std::vector<std::string>{"cuda", "cpu", "cuda"});
    CHECK(mara.lines().size() == 6);
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    cuda.check_clean();
}

TEST_CASE("running answers on a lost GPU fail and can be requested again; others continue") {
    const CudaDouble cuda;
    OnCard card(cuda);
    Game game; // a scripted backend on the CPU
    REQUIRE(sotto_engine_add_backend(game.engine(), &card.table) == SOTTO_OK);
    const Handed handed;
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
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
    CHECK(end.error == "the device was detached: submit the request again");
    game.until_told(here, SOTTO_EVENT_TEXT, count(game.of(here), SOTTO_EVENT_TEXT) + 3);
    game.cancel(here);
    const auto again = game.ask("there", "hi"); // loads it again
    game.until_told(again, SOTTO_EVENT_TEXT);
    CHECK(card.backend.devices().back() == "cpu");
    game.cancel(again);
    game.finish(again);
}

TEST_CASE("a device lost during an answer fails only that answer") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    game.have("npc", R"({"prompt_tokens": 1})");
    Session mara(game, "mara");
    CHECK(mara.turn("first") == "first");
    game.have("endless", kEndless);
    const auto asked = game.ask("endless", "hi");
    game.until_told(asked, SOTTO_EVENT_TEXT);
    cuda.set("lost", 1);
    const auto end = done(game.finish(asked));
    CHECK(end.status == SOTTO_ERROR_INFERENCE);
    // reported by whichever call came next
    CHECK(end.error.find(": CUDA_ERROR_LAUNCH_FAILED") != end.error.npos);
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CPU); // the device is lost
    CHECK(shown(game)["not_taken"][0]["reason"] == "cuInit: CUDA_ERROR_LAUNCH_FAILED");
    CHECK(mara.turn("second") == "second");
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    cuda.set("lost", 0);
    cuda.check_clean();
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG); // the device works again
    CHECK(mara.turn("third") == "third");
}

TEST_CASE("destroying a queue before detaching it fails running answers with the reason, and no session") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    game.have("npc", R"({"prompt_tokens": 1})");
    Session mara(game, "mara");
    CHECK(mara.turn("first") == "first");
    constexpr int kCalls = 100; // upper bound of the number of calls
    for (int i = 1; i <= kCalls; ++i) {
        cuda.fail("cuCtxPushCurrent_v2", i, 709); // CUDA_ERROR_CONTEXT_IS_DESTROYED
    }
    for (int i = 0; i < 2; ++i) {
        const auto end = done(game.finish(game.ask("npc", "hi")));
        CHECK(end.status == SOTTO_ERROR_INFERENCE);
        CHECK(end.error.find("cuCtxPushCurrent_v2: ") == 0);
    }
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    CHECK(cuda.get("failures") < kCalls);
    cuda.set("forgive", 1);
    cuda.check_clean();
    CHECK(mara.turn("second") == "second");
    CHECK(mara.lines().size() == 4);
}

TEST_CASE("a device lost on any rung fails an answer, and models continue on the CPU") {
    const VulkanDouble doubled;
    for (const bool vulkan : {false, true}) {
        Stage stage(vulkan);
        auto& [cuda, card, game, handed] = stage;
        const auto rung = attach(game, handed);
        CHECK(rung == (vulkan ? SOTTO_GPU_SHARING_VULKAN : SOTTO_GPU_SHARING_CIG));
        CHECK(shown(game, "device_lost").is_null());
        game.have("npc", R"({"prompt_tokens": 1, "parkable": true, "fingerprint": "f"})");
        game.have("other", kEndless);
        Session mara(game, "mara", R"(, "pinned": true)");
        CHECK(mara.turn("first") == "first");
        game.have("lost", R"({"prompt_tokens": 1, "loop": true, "tokens": ["a"], "lose_at": 3})");
        const auto other = game.ask("other", "hi");
        game.until_told(other, SOTTO_EVENT_TEXT);
        const auto end = done(game.finish(game.ask("lost", "hi")));
        CHECK(end.status == SOTTO_ERROR_DEVICE);
        CHECK(end.error == "the device was lost: submit the request again (the script loses the device)");
        CHECK(done(game.finish(other)).error == "the device was lost: submit the request again");
        CHECK(shown(game, "device_lost") == "the script loses the device");
        CHECK(shown(game)["rung"] == "cpu");
        const auto why = shown(game)["not_taken"].back();
        CHECK(why["rung"] == (vulkan ? "vulkan" : "cig"));
        CHECK(why["reason"] == "it was lost: the script loses the device");
        CHECK(mara.turn("second") == "second"); // on the CPU
        CHECK(card.backend.devices().back() == "cpu");
        CHECK(mara.lines().size() == 4);
        const auto again = game.ask("lost", "hi");
        game.until_told(again, SOTTO_EVENT_TEXT, 5);
        game.cancel(again);
        game.finish(again);
        CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
        game.end();
        cuda.check_clean();
    }
}

TEST_CASE("if the device is lost during a load, the model is loaded on the CPU") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    game.have("npc", R"({"prompt_tokens": 1, "lose_load": true})");
    CHECK(card.backend.devices() == std::vector<std::string>{"cuda", "cpu"});
    CHECK(said(game.finish(game.ask("npc", "hi"))) == "hi");
    CHECK(shown(game, "device_lost") == "the script loses the device");
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    cuda.check_clean();
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG); // counts as another GPU
    CHECK(shown(game, "device_lost").is_null());
}

TEST_CASE("models on their own Vulkan device leave and return with the GPU") {
    const VulkanDouble doubled;
    Stage stage(true);
    auto& [cuda, card, game, handed] = stage;
    game.have("npc", R"({"prompt_tokens": 1})");
    Session mara(game, "mara");
    CHECK(mara.turn("first") == "first");
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_VULKAN);
    CHECK(game.until([&] { return state_of(game) == "evicted"; }));
    CHECK(mara.turn("second") == "second");
    CHECK(card.backend.devices().back() == "vulkan:10111213-1415-1617-1819-1a1b1c1d1e1f");
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    CHECK(state_of(game) == "evicted"); // no longer on the GPU
    CHECK(mara.turn("third") == "third");
    CHECK(card.backend.devices().back() == "cpu");
    CHECK(mara.lines().size() == 6);
}
