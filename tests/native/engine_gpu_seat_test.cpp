// Placement of models while a GPU is attached: on the GPU or the CPU, and how often they move.
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/budget.hpp"
#include "support/busy.hpp"
#include "support/on_card.hpp"
#include "support/session.hpp"

using namespace test;

namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr double kSoonMs = 2000;
#else
constexpr double kSoonMs = 500;
#endif

using Devices = std::vector<std::string>;

constexpr const char* kRefuses = R"({"prompt_tokens": 1, "refuses": "cuda"})";
constexpr const char* kThere = "vulkan:10111213-1415-1617-1819-1a1b1c1d1e1f"; // GPU of the fake driver

void have(Game& game, const char* id, const char* backend, const char* script = R"({"prompt_tokens": 1})") {
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str(id);
    desc.backend = str(backend);
    desc.options = str(script);
    sotto_request loading = 0;
    REQUIRE(sotto_engine_load_model(game.engine(), &desc, &loading) == SOTTO_OK);
    const auto end = done(game.finish(loading));
    REQUIRE_MESSAGE(end.status == SOTTO_OK, end.text);
}

// A host's CPU backend beside one whose calls can be blocked.
struct Plain {
    explicit Plain(const Game& game, Point at = Point::load) : held(at), table(held.backend.table()) {
        table.name = str("plain");
        REQUIRE(sotto_engine_add_backend(game.engine(), &table) == SOTTO_OK);
    }

    Held held;
    sotto_backend table;
};

std::string answer(Game& game, const char* model) {
    const auto history = game.finish(game.ask(model, "hi"));
    CHECK_MESSAGE(done(history).status == SOTTO_OK, done(history).error);
    return said(history);
}

} // namespace

TEST_CASE("a model that its backend cannot open on the GPU is opened on the CPU and stays there") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    game.have("npc", kRefuses);
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    CHECK(game.until([&] { return state_of(game) == "evicted"; }));
    CHECK(answer(game, "npc") == "hi");
    CHECK(card.backend.devices() == Devices{"cpu", "cuda", "cpu"});
    CHECK(shown(game)["rung"] == "cig"); // other models may still use it
    CHECK(shown(game)["refused"] == Json({{"npc", "the script is not for cuda"}}));
    game.have("other", R"({"prompt_tokens": 1})");
    for (int i = 0; i < 3; ++i) {
        CHECK(answer(game, "npc") == "hi");
        CHECK(answer(game, "other") == "hi");
    }
    CHECK(card.backend.devices() == Devices{"cpu", "cuda", "cpu", "cuda"});
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
    CHECK(answer(game, "npc") == "hi");
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG); // counts as another GPU
    CHECK(shown(game)["refused"].empty());
    CHECK(game.until([&] { return state_of(game) == "evicted"; }));
    CHECK(answer(game, "npc") == "hi");
    CHECK(card.backend.devices() == Devices{"cpu", "cuda", "cpu", "cuda", "cuda", "cpu"});
    game.end();
    cuda.check_clean();
}

TEST_CASE("an invalid model is reported as such, without blaming the GPU") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    const auto end = done(game.finish(game.load("npc", R"({"fail_load": "it is damaged"})")));
    CHECK(end.status == SOTTO_ERROR_MODEL);
    CHECK(end.error.find("it is damaged") != std::string::npos);
    CHECK(shown(game)["refused"].empty());
}

TEST_CASE("a backend that does not support the GPU gets the engine's own device") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    const Plain plain(game);
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    have(game, "npc", "plain");
    CHECK(plain.held.backend.devices() == Devices{"cpu"});
    CHECK(answer(game, "npc") == "hi");
    CHECK(shown(game)["refused"].empty());
}

TEST_CASE("models that cannot use the GPU are never moved by attach or detach") {
    const VulkanDouble doubled;
    const CudaDouble cuda;
    OnCard card(cuda, true);
    TappedBackend first; // a CPU backend, listed before all others
    Game game(first.table());
    REQUIRE(sotto_engine_add_backend(game.engine(), &card.table) == SOTTO_OK);
    const Handed handed(true);
    game.have("speaks", kEndless);
    game.have("waits", R"({"prompt_tokens": 1})");
    const auto speaking = game.ask("speaks", "hi");
    game.until_told(speaking, SOTTO_EVENT_TEXT);
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_VULKAN);
    for (int i = 0; i < 3; ++i) {
        CHECK(answer(game, "waits") == "hi");
    }
    game.cancel(speaking);
    game.finish(speaking);
    game.until_told(game.ask("speaks", "hi"), SOTTO_EVENT_TEXT);
    CHECK(first.devices() == Devices{"cpu", "cpu"}); // unchanged
    CHECK(card.backend.devices().empty());
}

TEST_CASE("a model of a backend requested by name moves with the GPU like others") {
    const VulkanDouble doubled;
    Stage stage(true);
    auto& [cuda, card, game, handed] = stage;
    have(game, "npc", "oncard_vulkan");
    for (int i = 0; i < 2; ++i) {
        CHECK(attach(game, handed) == SOTTO_GPU_SHARING_VULKAN);
        CHECK(game.until([&] { return state_of(game) == "evicted"; }));
        CHECK(answer(game, "npc") == "hi");
        CHECK(card.backend.devices().back() == kThere);
        CHECK(shown(game)["backends"] == Json::array({"oncard_vulkan"}));
        CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
        CHECK(answer(game, "npc") == "hi");
        CHECK(card.backend.devices().back() == "cpu");
    }
    CHECK(card.backend.devices().size() == 5);
}

TEST_CASE("detaching does not wait for models on other devices") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    Plain plain(game);
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    game.have("npc", R"({"prompt_tokens": 1})");
    plain.held.gate.shut();
    auto desc = SOTTO_INIT(sotto_model_desc);
    desc.id = str("elsewhere");
    desc.backend = str("plain");
    desc.options = str("{}");
    sotto_request loading = 0;
    REQUIRE(sotto_engine_load_model(game.engine(), &desc, &loading) == SOTTO_OK);
    REQUIRE(plain.held.gate.holds());
    CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK); // the load is blocked
    cuda.check_clean();
    CHECK(count(game.of(loading), SOTTO_EVENT_REQUEST_DONE) == 0);
    plain.held.gate.open();
    CHECK(done(game.finish(loading)).status == SOTTO_OK);
    CHECK(answer(game, "npc") == "hi");
}

TEST_CASE("detaching waits for a running step on the GPU while other threads use every core") {
    std::vector<double> took;
    for (int i = 0; i < 5; ++i) {
        const CudaDouble cuda;
        OnCard card(cuda);
        auto desc = plain_desc();
        desc.mode = SOTTO_MODE_BALANCE;
        Game game(desc, card.table);
        const Handed handed;
        CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
        game.have("npc", R"({"tokens": ["a"], "loop": true, "token_ms": 20})");
        const auto speaking = game.ask("npc", "hi");
        game.until_told(speaking, SOTTO_EVENT_TEXT);
        const BusyCores busy;
        std::this_thread::sleep_for(std::chrono::milliseconds(50 * i));
        const auto begin = std::chrono::steady_clock::now();
        CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK);
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
        took.push_back(time.count());
        MESSAGE("detached within ", took.back(), " ms");
        CHECK(card.inside > 0);
        CHECK(done(game.finish(speaking)).status == SOTTO_ERROR_CANCELLED);
        cuda.check_clean();
    }
    if (may_leave_idle_class()) { // otherwise the step waits for a core: see sotto_engine_detach_gpu()
        CHECK(median(took) < kSoonMs);
    }
}

TEST_CASE("a lost device does not count against a device attached later") {
    const CudaDouble cuda;
    OnCard card(cuda);
    Held own(Point::load); // for devices, and on the engine's own
    auto table = own.backend.table();
    table.name = str("own_vulkan");
    auto desc = plain_desc();
    desc.device = str("vulkan0");
    Game game(desc, card.table);
    REQUIRE(sotto_engine_add_backend(game.engine(), &table) == SOTTO_OK);
    const Handed handed;
    own.gate.shut();
    auto model = SOTTO_INIT(sotto_model_desc);
    model.id = str("own");
    model.backend = str("own_vulkan");
    model.options = str(R"({"prompt_tokens": 1, "lose_load": true})");
    sotto_request loading = 0;
    REQUIRE(sotto_engine_load_model(game.engine(), &model, &loading) == SOTTO_OK);
    REQUIRE(own.gate.holds());
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    own.gate.open();
    CHECK(done(game.finish(loading)).status == SOTTO_OK);
    CHECK(own.backend.devices() == Devices{"vulkan0", "cpu"});
    have(game, "npc", "oncard");
    CHECK(shown(game)["rung"] == "cig");
    CHECK(shown(game, "device_lost") == "the script loses the device");
    CHECK(answer(game, "npc") == "hi");
    CHECK(card.backend.devices() == Devices{"cuda"});
}

TEST_CASE("a device lost during save or restore is detected there") {
    for (const char* where : {"lose_save", "lose_restore"}) {
        CAPTURE(where);
        Stage stage;
        auto& [cuda, card, game, handed] = stage;
        CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
        game.have(
            "npc",
            R"({"prompt_tokens": 1, "parkable": true, "fingerprint": "f", "streams": 1, )" + quoted(where) +
                ": true}"
        );
        Session mara(game, "mara");
        Session otto(game, "otto");
        CHECK(mara.turn("first") == "first");
        game.finish(otto.say("second")); // which needs the slot
        game.finish(mara.say("third"));
        CHECK(game.until([&] { return shown(game, "device_lost") == "the script loses the device"; }));
        CHECK(mara.turn("fourth") == "fourth");
        CHECK(otto.turn("fifth") == "fifth");
        CHECK(card.backend.devices() == Devices{"cuda", "cpu"});
        game.end();
        cuda.check_clean();
    }
}

TEST_CASE("on_budget=fail requests are accepted while their model moves, which needs no more memory") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    Gate leaving;
    card.backend.tap = [&](Point point, const sotto_step*) {
        if (point == Point::unload) {
            leaving.pass();
        }
    };
    CHECK(sotto_engine_set_vram_budget(game.engine(), 36 * kMegabyte) == SOTTO_OK);
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    game.have("npc", script({.streams = 2}));
    leaving.shut();
    std::thread detaches([&] { CHECK(sotto_engine_detach_gpu(game.engine()) == SOTTO_OK); });
    REQUIRE(leaving.holds());
    const auto asked = game.ask("npc", "hi", {.more = R"(, "on_budget": "fail")"});
    game.finish(game.submit(about("nobody"), {}, SOTTO_OP_READ_SESSION)); // processed after the detach
    CHECK(count(game.of(asked), SOTTO_EVENT_REQUEST_DONE) == 0);
    leaving.open();
    detaches.join();
    CHECK(said(game.finish(asked)) == "hi");
}

TEST_CASE("destroying an engine during a detach aborts loads on that device") {
    Stage stage;
    auto& [cuda, card, game, handed] = stage;
    CHECK(attach(game, handed) == SOTTO_GPU_SHARING_CIG);
    const auto loading = game.load("npc", R"({"load_ms": 15000})");
    game.until_told(loading, SOTTO_EVENT_PROGRESS);
    const auto began = std::chrono::steady_clock::now();
    std::thread detaches([engine = game.engine()] { sotto_engine_detach_gpu(engine); });
    game.end();
    detaches.join();
    CHECK(std::chrono::steady_clock::now() - began < std::chrono::seconds(10)); // a tenth of it is a part
    cuda.check_clean();
}
