// Engines can be destroyed at any time, during any call.
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/hooks.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

const char* const kEndless = R"({"tokens": ["a"], "loop": true})";

sotto_engine* create() {
    sotto_engine* engine = nullptr;
    const auto status = sotto_engine_create(nullptr, &engine);
    CHECK_MESSAGE(status == SOTTO_OK, last_error());
    return engine;
}

sotto_request_desc question(std::string_view body, sotto_request_flags flags) {
    auto desc = SOTTO_INIT(sotto_request_desc);
    desc.op = SOTTO_OP_CHAT;
    desc.body = str(body);
    desc.flags = flags;
    return desc;
}

// Every call that takes an engine, with arguments for which it succeeds.
std::vector<std::function<sotto_status(sotto_engine*)>> every_call() {
    static const std::string body = chat("npc", "hi");
    static const std::string script = "{\"tokens\": [\"x\"]}";
    return {
        [](sotto_engine* e) {
            const auto desc = question(body, 0);
            sotto_request request = 0;
            return sotto_engine_submit(e, &desc, &request);
        },
        [](sotto_engine* e) {
            const auto desc = question(body, SOTTO_REQUEST_PRIVATE);
            sotto_request request = 0;
            auto event = SOTTO_INIT(sotto_event);
            auto status = sotto_engine_submit(e, &desc, &request);
            while (status >= 0 && event.kind != SOTTO_EVENT_TEXT && event.kind != SOTTO_EVENT_REQUEST_DONE) {
                status = sotto_engine_wait_request_event(e, request, -1, &event);
            }
            sotto_engine_cancel(e, request);
            sotto_engine_discard_request(e, request);
            return status;
        },
        [](sotto_engine* e) {
            auto event = SOTTO_INIT(sotto_event);
            return sotto_engine_next_event(e, &event);
        },
        [](sotto_engine* e) { return sotto_engine_wait_for_events(e, -1); },
        [](sotto_engine* e) { return sotto_engine_cancel(e, 65537); },
        [](sotto_engine* e) { return sotto_engine_frame_begin(e, nullptr); },
        [](sotto_engine* e) { return sotto_engine_frame_end(e, nullptr); },
        [](sotto_engine* e) { return sotto_engine_set_mode(e, SOTTO_MODE_PRIORITIZE_COMPUTE); },
        [](sotto_engine* e) { return sotto_engine_set_target_tps(e, 1000); },
        [](sotto_engine* e) { return sotto_engine_set_vram_budget(e, 0); },
        [](sotto_engine* e) {
            sotto_str json{};
            return sotto_engine_describe(e, &json);
        },
        [](sotto_engine* e) { // without a CUDA backend, no driver is called
            auto d3d12 = SOTTO_INIT(sotto_gpu_d3d12);
            d3d12.device = d3d12.queue = &d3d12;
            d3d12.luid = 1;
            auto gpu = SOTTO_INIT(sotto_gpu_desc);
            gpu.d3d12 = &d3d12;
            const auto status = sotto_engine_attach_gpu(e, &gpu, nullptr);
            return status == SOTTO_ERROR_STATE ? SOTTO_OK : status; // another thread has attached
        },
        [](sotto_engine* e) {
            const auto status = sotto_engine_detach_gpu(e);
            return status == SOTTO_ERROR_STATE ? SOTTO_OK : status; // none is attached
        },
        [](sotto_engine* e) {
            auto desc = SOTTO_INIT(sotto_session_desc);
            desc.id = str("mara");
            return sotto_engine_open_session(e, &desc, nullptr);
        },
        [](sotto_engine* e) {
            return sotto_engine_set_session_system(e, str("mara"), str("hm"), 0, nullptr);
        },
        [](sotto_engine* e) { return sotto_engine_close_session(e, str("mara"), 0, nullptr); },
        [](sotto_engine* e) {
            sotto_str json{};
            return sotto_engine_list_models(e, &json);
        },
        [](sotto_engine* e) {
            auto desc = SOTTO_INIT(sotto_model_desc);
            desc.id = str("other");
            desc.backend = str("scripted");
            desc.options = str(script);
            sotto_request request = 0;
            return sotto_engine_load_model(e, &desc, &request);
        },
        [](sotto_engine* e) {
            sotto_request request = 0;
            return sotto_engine_unload_model(e, str("other"), 0, &request);
        },
    };
}

} // namespace

TEST_CASE("an engine can be destroyed during every call, and those calls fail cleanly") {
    const auto calls = every_call();
    for (int round = 0; round < 5; ++round) {
        Game game;
        game.have("npc", kEndless);
        auto* engine = game.engine();
        std::atomic<int> busy{0};
        std::atomic<int> odd{0};
        std::vector<std::thread> threads;
        for (const auto& call : calls) {
            threads.emplace_back([&] {
                ++busy;
                for (;;) {
                    const auto status = call(engine);
                    if (status == SOTTO_ERROR_ARGUMENT || status == SOTTO_ERROR_CANCELLED) {
                        return;
                    }
                    odd += status < 0 && status != SOTTO_ERROR_BUSY && status != SOTTO_ERROR_NOT_FOUND;
                    std::this_thread::yield();
                }
            });
        }
        while (busy.load() < static_cast<int>(calls.size())) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        std::thread twin([&] { sotto_engine_destroy(engine); });
        sotto_engine_destroy(engine);
        twin.join();
        for (auto& thread : threads) {
            thread.join();
        }
        CHECK(odd.load() == 0);
    }
}

TEST_CASE("every call refuses a destroyed engine") {
    auto* engine = create();
    sotto_engine_destroy(engine);
    sotto_engine_destroy(engine);
    std::vector<std::thread> threads;
    for (const auto& call : every_call()) {
        CHECK(call(engine) == SOTTO_ERROR_ARGUMENT);
        CHECK(last_error() == "invalid engine handle: never created, or already destroyed");
        CHECK(call(nullptr) == SOTTO_ERROR_ARGUMENT);
        CHECK(last_error() == "missing engine: expected a handle, not NULL");
        threads.emplace_back([engine, call] { CHECK(call(engine) == SOTTO_ERROR_ARGUMENT); });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    sotto_engine_destroy(nullptr);
}

TEST_CASE("64 engines can exist concurrently, and the 65th is refused") {
    std::vector<sotto_engine*> all;
    for (int i = 0; i < 64; ++i) {
        all.push_back(create());
    }
    sotto_engine* one_more = all[0];
    CHECK(sotto_engine_create(nullptr, &one_more) == SOTTO_ERROR_BUSY);
    CHECK(one_more == nullptr);
    CHECK(last_error() == "64 engines are live, the maximum: destroy one first");
    sotto_engine_destroy(all.back());
    all.back() = create();
    for (auto* engine : all) {
        CHECK(sotto_engine_frame_begin(engine, nullptr) == SOTTO_OK);
        sotto_engine_destroy(engine);
    }
}

TEST_CASE("an engine can be destroyed during any activity") {
    for (const Point at : {Point::load, Point::open, Point::step, Point::unload}) {
        CAPTURE(static_cast<int>(at));
        Held held(at);
        HostHooks host;
        Game game(host.desc(), held.backend.table());
        if (at != Point::load) {
            game.have("npc", R"({"tokens": ["a"], "loop": true, "weights": 5})");
        }
        held.gate.shut();
        game.load("npc", R"({"tokens": ["a"], "loop": true, "weights": 5})");
        game.load("second", R"({"weights": 7})");
        for (int i = 0; i < 10; ++i) {
            game.ask("npc", "hi", {.flags = static_cast<sotto_request_flags>(i % 2)});
        }
        if (at == Point::unload) {
            game.unload("npc");
        }
        REQUIRE(held.gate.reached());
        std::thread ender([&] { game.end(); });
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        held.gate.open();
        ender.join();
        CHECK(held.backend.count(Point::open) == held.backend.count(Point::close));
        for (const auto& [what, bytes] : host.memory()) {
            CHECK(bytes == 0);
        }
    }
}

TEST_CASE("engines that are created and destroyed concurrently do not interfere") {
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int round = 0; round < 10; ++round) {
                Game game;
                game.have("npc");
                wrong += said(game.finish(game.ask("npc", "mine alone"))) != "mine alone";
            }
        });
    }
    for (auto& thread : threads) {
        thread.join();
    }
    CHECK(wrong.load() == 0);
}

TEST_CASE("a request of one engine is unknown to another") {
    Game first;
    Game second;
    first.have("npc", kEndless);
    second.have("npc", kEndless);
    const auto request = first.ask("npc", "hi");
    second.ask("npc", "hi");
    first.until_told(request, SOTTO_EVENT_TEXT);
    CHECK(sotto_engine_cancel(second.engine(), request) == SOTTO_ERROR_NOT_FOUND);
    CHECK(sotto_engine_cancel(first.engine(), request) == SOTTO_OK);
}

TEST_CASE("the maximum number of requests can be live, and one more is refused") {
    Held held;
    Game game(held.backend.table());
    game.have("npc");
    held.gate.shut();
    const auto body = chat("npc", "hi");
    const auto desc = question(body, SOTTO_REQUEST_PRIVATE);
    std::vector<sotto_request> all;
    sotto_status status = SOTTO_OK;
    for (sotto_request request = 0; status == SOTTO_OK && all.size() < 70'000;) {
        status = sotto_engine_submit(game.engine(), &desc, &request);
        all.push_back(request);
    }
    CHECK(status == SOTTO_ERROR_BUSY);
    CHECK(last_error() == "65536 requests are live, the maximum: take the events of some first");
    CHECK(all.back() == 0);
    all.pop_back();
    CHECK(all.size() == 65'536);
    CHECK(sotto_engine_discard_request(game.engine(), all[7]) == SOTTO_OK);
    sotto_request request = 0;
    const auto submitted = [&] { return sotto_engine_submit(game.engine(), &desc, &request) == SOTTO_OK; };
    // All earlier requests are processed first, which takes a while under a sanitizer.
    REQUIRE((game.until(submitted) || game.until(submitted) || game.until(submitted)));
    held.gate.open();
}
