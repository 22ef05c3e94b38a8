// Data operations: executed in steps by a backend that lists its operations.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "text/json_reader.hpp"

using namespace test;

namespace {

constexpr std::uint32_t kUnits = 5; // units of work of each stream

// A backend for embeddings and transcription: each step does one unit and returns a word and a number; the
// last one returns the response.
struct Listener {
    std::function<void(sotto_step_item&, std::uint32_t left)> changes = [](auto&, auto) {};
    sotto_operations operations = SOTTO_OPERATION_TRANSCRIBE | SOTTO_OPERATION_EMBED;
    std::uint32_t context = 0;
    std::atomic<int> open{0};
    std::atomic<int> steps{0};
    float number = 0;

    struct Stream {
        std::uint32_t left = kUnits;
        std::string text;
    };

    static sotto_status step(Listener& self, const sotto_step& step) {
        ++self.steps;
        for (std::uint32_t i = 0; i < step.count; ++i) {
            auto& work = *step.items[i];
            auto& stream = *static_cast<Stream*>(work.stream);
            work.evaluated = 1;
            work.remaining = --stream.left;
            stream.text = " word" + std::to_string(kUnits - stream.left);
            work.text = str(stream.text);
            work.generated = 1;
            self.number = static_cast<float>(stream.left);
            work.data = {reinterpret_cast<const char*>(&self.number), sizeof self.number};
            work.data_info = str(R"({"type": "float32"})");
            if (stream.left == 0) {
                work.finish = SOTTO_FINISH_STOP;
                work.result = str(R"({"text": "five words"})");
            }
            self.changes(work, stream.left);
        }
        return SOTTO_OK;
    }

    sotto_backend table() {
        auto table = SOTTO_INIT(sotto_backend);
        table.name = str("listener");
        table.self = this;
        table.open =
            [](void* self, const sotto_model_source*, void** model, sotto_model_info* info, sotto_str*) {
                *model = self;
                info->streams = 2;
                info->capabilities = SOTTO_CAPABILITY_BATCHABLE | SOTTO_CAPABILITY_ABORTABLE;
                info->operations = static_cast<Listener*>(self)->operations;
                info->context = static_cast<Listener*>(self)->context;
                return sotto_status{SOTTO_OK};
            };
        table.close = [](void*, void*) {};
        table.stream_open = [](void* self,
                               void*,
                               const sotto_stream_desc*,
                               void** stream,
                               sotto_stream_info* info,
                               sotto_str*) {
            ++static_cast<Listener*>(self)->open;
            *stream = new Stream;
            info->prompt_tokens = kUnits;
            return sotto_status{SOTTO_OK};
        };
        table.stream_close = [](void* self, void*, void* stream) {
            --static_cast<Listener*>(self)->open;
            delete static_cast<Stream*>(stream);
        };
        table.step = [](void* self, void*, const sotto_step* one, sotto_str*) {
            return step(*static_cast<Listener*>(self), *one);
        };
        return table;
    }
};

constexpr std::string_view kSound = R"({"model": "ears", "file": "line.wav"})";

Told transcribe(Game& game, std::string_view body = kSound, const Ask& how = {}) {
    return done(game.finish(game.submit(body, how, SOTTO_OP_TRANSCRIBE)));
}

} // namespace

TEST_CASE("a data operation delivers text and data as they are made, and the backend's response") {
    Listener listener;
    Game game(listener.table());
    REQUIRE(done(game.finish(game.load("ears", "{}"))).status == SOTTO_OK);
    for (const sotto_request_flags flags :
         {sotto_request_flags{0}, sotto_request_flags{SOTTO_REQUEST_CHUNKS}}) {
        const auto request = game.submit(kSound, {.flags = flags}, SOTTO_OP_TRANSCRIBE);
        const auto& history = game.finish(request);
        CHECK(said(history) == " word1 word2 word3 word4 word5");
        CHECK(done(history).json == R"({"text": "five words"})");
        CHECK(done(history).tokens == kUnits);
        REQUIRE(count(history, SOTTO_EVENT_DATA) == kUnits);
        std::uint32_t left = kUnits;
        for (const auto& told : history) {
            if (told.kind == SOTTO_EVENT_DATA) {
                float number = 0;
                REQUIRE(told.data.size() == sizeof number);
                std::memcpy(&number, told.data.data(), sizeof number);
                CHECK(number == static_cast<float>(--left));
                CHECK(told.json == R"({"type": "float32"})");
            }
        }
    }
    CHECK(listener.steps == 2 * static_cast<int>(kUnits));
    CHECK(game.until([&] { return listener.open == 0; }));
}

TEST_CASE("a model answers only operations that its backend lists") {
    Listener listener;
    Game game(listener.table());
    REQUIRE(done(game.finish(game.load("ears", "{}"))).status == SOTTO_OK);
    const auto chat = done(game.finish(game.ask("ears", "hi")));
    CHECK(chat.status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(
        chat.error ==
        "invalid op 'chat': expected an operation of model 'ears' (embed, transcribe); use another model"
    );
    const auto translated = R"({"model": "ears", "input": "Hello"})";
    CHECK(
        done(game.finish(game.submit(translated, {}, SOTTO_OP_TRANSLATE))).status == SOTTO_ERROR_UNSUPPORTED
    );
    CHECK(done(game.finish(game.submit(translated, {}, SOTTO_OP_EMBED))).status == SOTTO_OK);
    CHECK(listener.steps == static_cast<int>(kUnits));
}

TEST_CASE("a model whose backend lists no operations answers all except data operations") {
    Game game;
    game.have("npc");
    CHECK(done(game.finish(game.ask("npc", "hi"))).status == SOTTO_OK);
    const auto told =
        done(game.finish(game.submit(R"({"model": "npc", "input": "hi"})", {}, SOTTO_OP_EMBED)));
    CHECK(told.status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(told.error.find("(chat, completion, infill, tokenize, ") != std::string::npos);
}

TEST_CASE("bodies of data operations are validated by field") {
    Listener listener;
    Game game(listener.table());
    REQUIRE(done(game.finish(game.load("ears", "{}"))).status == SOTTO_OK);
    struct Wrong {
        sotto_op op;
        const char* body;
        const char* what;
    };
    constexpr std::array kWrong = {
        Wrong{SOTTO_OP_EMBED, R"({"model": "ears"})", "missing input: expected a string, or an array"},
        Wrong{SOTTO_OP_EMBED, R"({"model": "ears", "input": []})", "invalid input '[]'"},
        Wrong{SOTTO_OP_EMBED, R"({"model": "ears", "input": ["a", 1]})", "invalid input"},
        Wrong{
            SOTTO_OP_EMBED, R"({"model": "ears", "input": "a", "dimensions": 0})", "invalid dimensions '0'"
        },
        Wrong{
            SOTTO_OP_EMBED, R"({"model": "ears", "input": "a", "encoding_format": "hex"})", "encoding_format"
        },
        Wrong{SOTTO_OP_TRANSCRIBE, R"({"model": "ears"})", "missing file: expected the path"},
        Wrong{SOTTO_OP_TRANSCRIBE, R"({"model": "ears", "file": ""})", "invalid file"},
        Wrong{SOTTO_OP_TRANSCRIBE, R"({"model": "ears", "input_audio": "x"})", "invalid input_audio"},
        Wrong{
            SOTTO_OP_TRANSCRIBE, R"({"model": "ears", "input_audio": {"data": "AAAA"}})", "input_audio.format"
        },
        Wrong{
            SOTTO_OP_TRANSCRIBE,
            R"({"model": "ears", "file": "a", "input_audio": {"data": "AAAA", "format": "wav"}})",
            "remove one of the two"
        },
        Wrong{
            SOTTO_OP_TRANSCRIBE,
            R"({"model": "ears", "file": "a", "timestamp_granularities": ["letter"]})",
            "timestamp_granularities"
        },
        Wrong{SOTTO_OP_TRANSCRIBE, R"({"model": "ears", "file": "a", "prompt": [1]})", "invalid prompt"},
        Wrong{
            SOTTO_OP_TRANSCRIBE,
            R"({"model": "ears", "file": "a", "langage": "en"})",
            "did you mean \"language\""
        },
    };
    for (const auto& wrong : kWrong) {
        const auto told = done(game.finish(game.submit(wrong.body, {}, wrong.op)));
        CHECK(told.status == SOTTO_ERROR_ARGUMENT);
        CHECK_MESSAGE(told.error.find(wrong.what) != std::string::npos, told.error);
    }
    CHECK(listener.steps == 0);
}

TEST_CASE("a response or description that is not a JSON object fails the request and names the backend") {
    const auto refused = [](auto changes, const char* what) {
        Listener listener;
        listener.changes = changes;
        Game game(listener.table());
        REQUIRE(done(game.finish(game.load("ears", "{}"))).status == SOTTO_OK);
        const auto told = transcribe(game);
        CHECK(told.status == SOTTO_ERROR_INFERENCE);
        CHECK_MESSAGE(told.error.find("backend 'listener' broke its contract: ") == 0, told.error);
        CHECK_MESSAGE(told.error.find(what) != std::string::npos, told.error);
        CHECK(game.until([&] { return listener.open == 0; }));
    };
    refused([](auto& work, auto) { work.data_info = str("[1]"); }, "sotto_step_item.data_info");
    refused(
        [](auto& work, auto left) { work.result = left == 0 ? str("\xff") : work.result; },
        "sotto_step_item.result"
    );
    refused([](auto& work, auto) { work.result = {}; }, "sotto_step_item.result");
}

TEST_CASE("output of a data operation is not paced") {
    Listener listener;
    Game game(listener.table());
    REQUIRE(done(game.finish(game.load("ears", "{}"))).status == SOTTO_OK);
    const auto began = std::chrono::steady_clock::now();
    CHECK(transcribe(game, kSound, {.tps = 0.5F}).status == SOTTO_OK);
    CHECK(
        std::chrono::steady_clock::now() - began < std::chrono::seconds(5)
    ); // five words at that pace: ten seconds
}

TEST_CASE("units of a data operation are not limited by the context, which counts tokens") {
    Listener listener;
    listener.context = kUnits - 1;
    Game game(listener.table());
    REQUIRE(done(game.finish(game.load("ears", "{}"))).status == SOTTO_OK);
    CHECK(transcribe(game).status == SOTTO_OK);
}

TEST_CASE("a recording with data operations replays without differences") {
    const auto name =
        "sotto_data_test_" + std::to_string(std::chrono::steady_clock::now().time_since_epoch().count());
    const auto file = std::filesystem::temp_directory_path() / name;
    const auto path = file.string();
    Listener listener;
    listener.changes = [](auto& work, auto left) {
        work.generated = left % 2; // some steps return only data
        work.text = left % 2 != 0 ? work.text : sotto_str{};
    };
    auto desc = plain_desc();
    desc.mode = SOTTO_MODE_BALANCE;
    desc.record_path = str(path);
    {
        Game game(desc, listener.table());
        REQUIRE(done(game.finish(game.load("ears", "{}"))).status == SOTTO_OK);
        std::vector<sotto_request> asked;
        for (int i = 0; i < 9; ++i) {
            sotto_engine_frame_begin(game.engine(), nullptr);
            const auto body =
                i % 2 == 0 ? kSound : std::string_view(R"({"model": "ears", "input": ["a", "b"]})");
            const Ask how = {
                .tps = i % 3 == 0 ? 50.0F : 0, .priority = static_cast<sotto_priority>(i % 3) - 1
            };
            asked.push_back(game.submit(body, how, i % 2 == 0 ? SOTTO_OP_TRANSCRIBE : SOTTO_OP_EMBED));
            sotto_engine_frame_end(game.engine(), nullptr);
        }
        game.cancel(asked[4]);
        for (const auto request : asked) {
            game.finish(request);
        }
    }
    sotto_str json{};
    REQUIRE_MESSAGE(sotto_replay(str(path), &json) == SOTTO_OK, last_error());
    const auto report = sotto::Json::parse(text_of(json));
    CHECK_MESSAGE(report["first_difference"] == nullptr, report.dump());
    CHECK(report["same"] == report["decisions"]);
    CHECK(report["streams"] >= 8);
    CHECK(report["decisions"] > 8 * kUnits / 2);
    std::filesystem::remove(file);
}

TEST_CASE("steps that return only data count as progress") {
    Listener listener;
    std::atomic<int> parts{0};
    listener.changes = [&](auto& work, auto left) {
        if (left == 0 && ++parts < 300) { // reports one remaining unit 300 times
            static_cast<Listener::Stream*>(work.stream)->left = 1;
            work.evaluated = 0;
            work.remaining = 1;
            work.generated = 0;
            work.finish = SOTTO_FINISH_NONE;
        }
    };
    Game game(listener.table());
    REQUIRE(done(game.finish(game.load("ears", "{}"))).status == SOTTO_OK);
    CHECK(transcribe(game).status == SOTTO_OK);
    CHECK(parts == 300);
}

TEST_CASE("data returned by a chat's step is not delivered") {
    Listener listener;
    listener.operations = SOTTO_OPERATION_CHAT;
    Game game(listener.table());
    REQUIRE(done(game.finish(game.load("ears", "{}"))).status == SOTTO_OK);
    const auto& history = game.finish(game.ask("ears", "hi"));
    CHECK(done(history).status == SOTTO_OK);
    CHECK(count(history, SOTTO_EVENT_DATA) == 0);
    CHECK(done(history).json.find("chat.completion") != std::string::npos);
}

TEST_CASE("a data operation is cancelled between steps and leaves nothing open") {
    Listener listener;
    std::atomic<Game*> host{nullptr};
    std::atomic<sotto_request> running{0};
    listener.changes = [&](auto&, auto left) {
        if (left == kUnits - 1 && host.load() != nullptr) {
            while (running.load() == 0) {
            }
            host.load()->cancel(running.load());
        }
    };
    Game game(listener.table());
    REQUIRE(done(game.finish(game.load("ears", "{}"))).status == SOTTO_OK);
    host = &game;
    running = game.submit(kSound, {}, SOTTO_OP_TRANSCRIBE);
    CHECK(done(game.finish(running)).status == SOTTO_ERROR_CANCELLED);
    CHECK(game.until([&] { return listener.open == 0; }));
    CHECK(listener.steps < static_cast<int>(kUnits));
}
