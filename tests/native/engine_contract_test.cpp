// Backends that break their contract: their own requests fail with an error that names them, and nothing
// spins, blocks or overflows.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "text/utf8_stream.hpp"

using namespace test;

namespace {

// A backend that answers one word, whose functions tests can replace.
struct Odd {
    std::function<void(sotto_model_info&)> opens;
    std::function<void(sotto_model_info&)> measures;
    std::function<sotto_status(const sotto_step&, sotto_str&)> steps;
    std::function<void(sotto_stream_info&)> begins;
    std::function<sotto_status(sotto_str&)> refuses;
    std::function<void*()> streams_apart; // the handle of the next stream
    std::atomic<int> stepped{0};
    std::atomic<int> open{0};
    std::atomic<int> streams{0}; // number of open streams

    sotto_backend table() {
        auto table = SOTTO_INIT(sotto_backend);
        table.name = str("odd");
        table.self = this;
        table.open =
            [](void* self, const sotto_model_source*, void** model, sotto_model_info* info, sotto_str* why) {
                auto& odd = *static_cast<Odd*>(self);
                if (odd.refuses) {
                    return odd.refuses(*why);
                }
                *model = self;
                info->streams = 4;
                info->capabilities = SOTTO_CAPABILITY_BATCHABLE;
                ++odd.open;
                if (odd.opens) {
                    odd.opens(*info);
                }
                return sotto_status{SOTTO_OK};
            };
        table.close = [](void* self, void*) { --static_cast<Odd*>(self)->open; };
        table.stream_open = [](void* self,
                               void*,
                               const sotto_stream_desc*,
                               void** stream,
                               sotto_stream_info* info,
                               sotto_str*) {
            auto& odd = *static_cast<Odd*>(self);
            *stream = odd.streams_apart ? odd.streams_apart() : self;
            info->prompt_tokens = 4;
            ++odd.streams;
            if (odd.begins) {
                odd.begins(*info);
                *stream = info->result.size != 0 ? nullptr : self;
            }
            return sotto_status{SOTTO_OK};
        };
        table.stream_close = [](void* self, void*, void*) { --static_cast<Odd*>(self)->streams; };
        table.step = [](void* self, void*, const sotto_step* step, sotto_str* why) {
            auto& odd = *static_cast<Odd*>(self);
            ++odd.stepped;
            return odd.steps ? odd.steps(*step, *why) : one_word(*step);
        };
        if (measures) {
            table.measure = [](void* self, const sotto_model_source*, sotto_model_info* info, sotto_str*) {
                info->streams = 4;
                static_cast<Odd*>(self)->measures(*info);
                return sotto_status{SOTTO_OK};
            };
        }
        return table;
    }

    static sotto_status one_word(const sotto_step& step) {
        for (std::uint32_t i = 0; i < step.count; ++i) {
            auto& work = *step.items[i];
            work.evaluated = work.remaining;
            work.remaining = 0;
            work.generated = 1;
            work.text = str("word");
        }
        return SOTTO_OK;
    }
};

Told load(Game& game) {
    return done(game.finish(game.load("npc", "{}")));
}

// Returns the last event of a chat with max_tokens 2.
Told ask(Game& game) {
    return done(game.finish(game.ask("npc", "hi", {.more = R"(, "max_tokens": 2)"})));
}

void check_names_it(const Told& told, const char* what) {
    CHECK(told.status < 0);
    CHECK_MESSAGE(told.error.find("backend 'odd' broke its contract: ") != std::string::npos, told.error);
    CHECK_MESSAGE(told.error.find(what) != std::string::npos, told.error);
    CHECK(sotto::is_utf8(told.error));
}

} // namespace

TEST_CASE("a backend that keeps its contract answers") {
    Odd odd;
    Game game(odd.table());
    CHECK(load(game).status == SOTTO_OK);
    CHECK(ask(game).status == SOTTO_OK);
}

TEST_CASE("a prompt longer than the model's context fails, and its stream is closed") {
    Odd odd;
    std::uint32_t tokens = 4;
    odd.opens = [](auto& info) { info.context = 4; };
    odd.begins = [&](auto& info) { info.prompt_tokens = tokens; };
    Game game(odd.table());
    CHECK(load(game).status == SOTTO_OK);
    CHECK(ask(game).status == SOTTO_OK);
    const int steps = odd.stepped;
    tokens = 5;
    const auto told = ask(game);
    CHECK(told.status == SOTTO_ERROR_INFERENCE);
    CHECK(
        told.error == "the prompt has 5 tokens, but the model's context holds 4; shorten the prompt, or "
                      "raise the model's context"
    );
    CHECK(odd.stepped == steps);
    CHECK(game.until([&] { return odd.streams == 0; }));
}

TEST_CASE("implausible sizes are refused, and the model is closed") {
    const auto refused = [](const std::function<void(sotto_model_info&)>& opens, const char* what) {
        Odd odd;
        odd.opens = opens;
        Game game(odd.table());
        const auto told = load(game);
        CHECK(told.status == SOTTO_ERROR_MODEL);
        check_names_it(told, what);
        CHECK(odd.open == 0);
    };
    constexpr auto kMost64 = std::numeric_limits<std::uint64_t>::max();
    refused([](auto& info) { info.streams = UINT32_MAX; }, "invalid sotto_model_info.streams '4294967295'");
    refused([](auto& info) { info.layers = UINT32_MAX; }, "invalid sotto_model_info.layers '4294967295'");
    refused([](auto& info) { info.weights = info.kv = info.compute = kMost64; }, "weights, kv and compute");
    refused([](auto& info) { info.weights = kMost64 - 100, info.kv = 50, info.compute = 60; }, "weights, kv");
    refused([](auto& info) { info.host = kMost64; }, "sotto_model_info.host");
}

TEST_CASE("an implausible measured number of streams does not block the engine") {
    Odd odd;
    odd.measures = [](auto& info) {
        info.streams = UINT32_MAX;
        info.shrinkable = SOTTO_SHRINKABLE_STREAMS;
        info.kv = std::uint64_t{1} << 40;
    };
    auto desc = plain_desc();
    desc.vram_budget = 1 << 20;
    Game game(desc, odd.table());
    check_names_it(load(game), "invalid sotto_model_info.streams '4294967295'");
}

TEST_CASE("sums of reported sizes never pass the budget by overflow") {
    Odd odd;
    odd.opens = [](auto& info) { info.weights = std::uint64_t{1} << 62; };
    Game game(odd.table());
    CHECK(load(game).status == SOTTO_OK);
    const auto second = done(game.finish(game.load("other", "{}")));
    CHECK(second.status == SOTTO_ERROR_BUDGET);
    auto stats = SOTTO_INIT(sotto_stats);
    REQUIRE(sotto_engine_stats(game.engine(), &stats) == SOTTO_OK);
    CHECK(stats.bytes_in_use == std::uint64_t{1} << 62);
    CHECK(odd.open == 1);
}

TEST_CASE("a step that is aborted without a request fails its streams") {
    Odd odd;
    odd.steps = [](const sotto_step&, sotto_str&) { return sotto_status{SOTTO_ERROR_CANCELLED}; };
    Game game(odd.table());
    REQUIRE(load(game).status == SOTTO_OK);
    const auto told = ask(game);
    CHECK(told.status == SOTTO_ERROR_INFERENCE);
    check_names_it(told, "step returned SOTTO_ERROR_CANCELLED");
    CHECK(odd.stepped == 1);
}

TEST_CASE("steps without progress fail their requests after a limited number") {
    const auto stands = [](const std::function<void(sotto_step_item&)>& does) {
        Odd odd;
        odd.steps = [&](const sotto_step& step, sotto_str&) {
            for (std::uint32_t i = 0; i < step.count; ++i) {
                does(*step.items[i]);
            }
            return sotto_status{SOTTO_OK};
        };
        Game game(odd.table());
        REQUIRE(load(game).status == SOTTO_OK);
        const auto told = ask(game);
        CHECK(told.status == SOTTO_ERROR_INFERENCE);
        check_names_it(told, "did nothing");
        CHECK(odd.stepped <= 1000);
        odd.steps = nullptr;
        CHECK(ask(game).status == SOTTO_OK); // the next request succeeds
    };
    stands([](sotto_step_item&) {});
    stands([](sotto_step_item& work) { work.remaining = 5; });
}

TEST_CASE("steps that count evaluations but never finish a prompt fail their request") {
    Odd odd;
    std::uint32_t remaining = 4;
    const auto stuck = [&](const std::function<void(sotto_step_item&)>& does) {
        odd.stepped = 0;
        odd.steps = [&](const sotto_step& step, sotto_str&) {
            step.items[0]->evaluated = 1;
            does(*step.items[0]);
            return sotto_status{SOTTO_OK};
        };
        Game game(odd.table());
        REQUIRE(load(game).status == SOTTO_OK);
        check_names_it(ask(game), "10000 steps in a row gave the stream no token");
        CHECK(odd.stepped <= 10'010);
        odd.steps = nullptr;
        CHECK(ask(game).status == SOTTO_OK);
    };
    stuck([](sotto_step_item&) {});
    // the remaining count goes up and down
    stuck([&](sotto_step_item& work) { work.remaining = remaining = 9 - remaining; });
}

TEST_CASE("a stream without progress fails while others continue") {
    Odd odd;
    void* moves = nullptr; // the stream opened first
    int streams[2] = {};
    odd.streams_apart = [&, next = 0]() mutable -> void* { return &streams[next++ % 2]; };
    odd.steps = [&](const sotto_step& step, sotto_str&) {
        for (std::uint32_t i = 0; i < step.count; ++i) {
            auto& work = *step.items[i];
            moves = moves == nullptr ? work.stream : moves;
            if (work.stream == moves) {
                work.evaluated = work.remaining;
                work.remaining = 0;
                work.generated = 1;
                work.text = str("w");
            }
        }
        return sotto_status{SOTTO_OK};
    };
    Game game(odd.table());
    REQUIRE(load(game).status == SOTTO_OK);
    const auto first = game.ask("npc", "hi");
    game.until_told(first, SOTTO_EVENT_TEXT);
    const auto second = game.ask("npc", "hi");
    check_names_it(done(game.finish(second)), "no token");
    CHECK(test::count(game.of(first), SOTTO_EVENT_REQUEST_DONE) == 0);
    game.cancel(first);
    CHECK(done(game.finish(first)).status == SOTTO_ERROR_CANCELLED);
}

TEST_CASE("an item that reports more tokens than requested fails its request") {
    const auto refused = [](const std::function<void(sotto_step_item&)>& does, const char* what) {
        Odd odd;
        odd.steps = [&](const sotto_step& step, sotto_str&) {
            Odd::one_word(step);
            does(*step.items[0]);
            return sotto_status{SOTTO_OK};
        };
        Game game(odd.table());
        REQUIRE(load(game).status == SOTTO_OK);
        check_names_it(ask(game), what);
    };
    refused(
        [](sotto_step_item& work) { work.evaluated = UINT32_MAX; },
        "invalid sotto_step_item.evaluated '4294967295'"
    );
    refused(
        [](sotto_step_item& work) { work.generated = 4'000'000'000; },
        "invalid sotto_step_item.generated '4000000000'"
    );
    refused([](sotto_step_item& work) { work.decoded = 65'537; }, "invalid sotto_step_item.decoded '65537'");
    refused([](sotto_step_item& work) { work.finish = 99; }, "invalid sotto_step_item.finish '99'");
    refused(
        [](sotto_step_item& work) { work.status = -999; }, "invalid status of the step of a stream '-999'"
    );
}

TEST_CASE("an unknown status is not passed to the host") {
    Odd odd;
    odd.steps = [](const sotto_step&, sotto_str&) { return sotto_status{-777}; };
    Game game(odd.table());
    REQUIRE(load(game).status == SOTTO_OK);
    check_names_it(ask(game), "invalid status of step '-777'");
}

TEST_CASE("texts of a backend reach the host as valid UTF-8") {
    static constexpr char kBad[] = "half \xf0\x9f and \xff";
    Odd odd;
    odd.refuses = [](sotto_str& why) {
        why = {kBad, SOTTO_NUL};
        return sotto_status{SOTTO_ERROR_MODEL};
    };
    {
        Game game(odd.table());
        const auto told = load(game);
        CHECK(told.status == SOTTO_ERROR_MODEL);
        CHECK(told.error.find("model 'npc': half ") == 0);
        CHECK(sotto::is_utf8(told.error));
    }
    odd.refuses = nullptr;
    Game game(odd.table());
    REQUIRE(load(game).status == SOTTO_OK);
    odd.steps = [](const sotto_step& step, sotto_str&) {
        Odd::one_word(step);
        step.items[0]->status = SOTTO_ERROR_INFERENCE;
        step.items[0]->reason = {kBad, sizeof kBad - 1};
        return sotto_status{SOTTO_OK};
    };
    const auto failed = ask(game);
    CHECK(failed.status == SOTTO_ERROR_INFERENCE);
    CHECK(sotto::is_utf8(failed.text));
    odd.steps = [](const sotto_step& step, sotto_str&) {
        Odd::one_word(step);
        step.items[0]->text = {kBad, sizeof kBad - 1};
        return sotto_status{SOTTO_OK};
    };
    const auto spoke = done(game.finish(game.ask("npc", "hi", {.more = R"(, "max_tokens": 2)"})));
    CHECK(spoke.status == SOTTO_OK);
    CHECK(sotto::is_utf8(spoke.json));
    odd.begins = [](sotto_stream_info& info) { info.result = {kBad, sizeof kBad - 1}; };
    check_names_it(ask(game), "invalid sotto_stream_info.result: expected UTF-8");
    odd.begins = [](sotto_stream_info& info) { info.stops = str("[1, {}, null"); };
    check_names_it(ask(game), "sotto_stream_info.stops");
}

TEST_CASE("a name that is not UTF-8 is refused") {
    Odd odd;
    auto table = odd.table();
    table.name = str("\xff");
    auto desc = plain_desc();
    sotto_engine* engine = nullptr;
    REQUIRE(sotto_engine_create(&desc, &engine) == SOTTO_OK);
    CHECK(sotto_engine_add_backend(engine, &table) == SOTTO_ERROR_ARGUMENT);
    sotto_engine_destroy(engine);
}
