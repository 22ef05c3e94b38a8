// Failure to start threads: calls and requests fail with a reason, and succeed once threads can be started.
#include <atomic>
#include <string>

#include <doctest/doctest.h>

#include "support/folder.hpp"
#include "support/game.hpp"
#include "support/no_threads.hpp"
#include "support/tapped_backend.hpp"

using namespace test;

namespace {

constexpr const char* kWhy = "no thread could be started: ";

bool is_told(const std::string& why) {
    return why.find(kWhy) == 0 && why.find('/') == std::string::npos;
}

// Counts the lines that an engine logs.
class Lines {
public:
    Lines() {
        sink.self = this;
        sink.write = [](void* self, sotto_log_level, sotto_str) { ++static_cast<Lines*>(self)->count_; };
    }
    int count() const { return count_.load(); }

    sotto_log_sink sink = SOTTO_INIT(sotto_log_sink);

private:
    std::atomic<int> count_{0};
};

sotto_status asked(Game& game, std::string& why) {
    const auto& told = done(game.finish(game.ask("npc", "one two")));
    why = told.error;
    return told.status;
}

} // namespace

TEST_CASE("an engine whose threads cannot be started is not created, with the reason") {
    sotto_engine* engine = nullptr;
    {
        const NoThreads none;
        CHECK(sotto_engine_create(nullptr, &engine) == SOTTO_ERROR_MEMORY);
        CHECK_MESSAGE(is_told(last_error()), last_error());
        CHECK(engine == nullptr);
    }
    CHECK(sotto_engine_create(nullptr, &engine) == SOTTO_OK);
    sotto_engine_destroy(engine);
}

TEST_CASE("requests fail while no compute thread can be started, and succeed later") {
    Lines lines;
    auto desc = plain_desc();
    desc.log = &lines.sink;
    Game game(desc);
    game.have("npc");
    std::string why;
    {
        const NoThreads none;
        for (int i = 0; i < 3; ++i) {
            CHECK(asked(game, why) == SOTTO_ERROR_MEMORY);
            CHECK_MESSAGE(is_told(why), why);
        }
        const auto several = game.submit(chat("npc", "one", R"(, "n": 3)"));
        CHECK(done(game.finish(several)).status == SOTTO_ERROR_MEMORY);
        CHECK(lines.count() == 0);
    }
    CHECK(asked(game, why) == SOTTO_OK);
}

TEST_CASE("without prepare threads, the control thread parses and the compute thread prepares requests") {
    TappedBackend backend;
    Game game(backend.table());
    game.have("plain");
    game.have("npc", R"({"prepare_ms": 0})");
    REQUIRE(done(game.finish(game.ask("plain", "one"))).status == SOTTO_OK); // the compute thread was started
    std::string large = "one";
    for (int i = 0; i < 20'000; ++i) {
        large += " word";
    }
    const auto answered = [&](const std::string& text) {
        const auto request = game.submit(chat("npc", text, R"(, "max_tokens": 1)"));
        const auto& events = game.finish(request);
        CHECK(done(events).status == SOTTO_OK);
        CHECK(said(events) == "one");
    };
    {
        const NoThreads none;
        answered("one two");
        answered(large);
        CHECK(backend.count(Point::prepare) == 0);
    }
    answered("one two");
    answered(large);
    CHECK(backend.count(Point::prepare) == 2);
}

TEST_CASE("a model loads without a loader thread") {
    Game game;
    {
        const NoThreads none;
        game.have("npc");
    }
    std::string why;
    CHECK(asked(game, why) == SOTTO_OK);
}

TEST_CASE("states are refused without a file thread, and saved and restored once there is one") {
    const Folder folder;
    const auto path = (folder.path() / "npc.state").string();
    const auto body = chat("npc", "one", R"(, "path": )" + test::quoted(path));
    Game game;
    game.have("npc", R"({"fingerprint": "{}"})");
    std::string why;
    REQUIRE(asked(game, why) == SOTTO_OK); // the compute thread was started
    const auto refused = [&](sotto_op op) {
        const NoThreads none;
        const auto& told = done(game.finish(game.submit(body, {}, op)));
        CHECK(told.status == SOTTO_ERROR_MEMORY);
        CHECK_MESSAGE(is_told(told.error), told.error);
        CHECK(asked(game, why) == SOTTO_OK);
    };
    refused(SOTTO_OP_RESTORE_STATE);
    refused(SOTTO_OP_SAVE_STATE);
    CHECK(folder.files().empty());
    CHECK(done(game.finish(game.submit(body, {}, SOTTO_OP_SAVE_STATE))).status == SOTTO_OK);
    CHECK(done(game.finish(game.submit(body, {}, SOTTO_OP_RESTORE_STATE))).status == SOTTO_OK);
}

TEST_CASE(
    "a compute mode whose threads cannot be started fails requests, and the previous mode still works"
) {
    Game game;
    game.have("npc");
    std::string why;
    REQUIRE(asked(game, why) == SOTTO_OK);
    {
        const NoThreads none;
        CHECK(sotto_engine_set_mode(game.engine(), SOTTO_MODE_PRIORITIZE_GRAPHICS) == SOTTO_OK);
        CHECK(asked(game, why) == SOTTO_ERROR_MEMORY);
        CHECK_MESSAGE(is_told(why), why);
        CHECK(sotto_engine_set_mode(game.engine(), SOTTO_MODE_PRIORITIZE_COMPUTE) == SOTTO_OK);
        CHECK(asked(game, why) == SOTTO_OK);
    }
    CHECK(sotto_engine_set_mode(game.engine(), SOTTO_MODE_PRIORITIZE_GRAPHICS) == SOTTO_OK);
    CHECK(asked(game, why) == SOTTO_OK);
}
