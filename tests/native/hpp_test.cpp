// sotto.hpp in a program that links the library.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include <sotto/sotto.hpp>

#include "support/paths.hpp"

namespace {

sotto::Engine engine() {
    auto desc = SOTTO_INIT(sotto_engine_desc);
    desc.mode = SOTTO_MODE_PRIORITIZE_COMPUTE;
    desc.module_dir = sotto::str(test::paths::kScriptedFolder);
    sotto::Engine made(desc);
    made.wait(made.load_model("npc", "{}", SOTTO_REQUEST_PRIVATE)); // repeats the last message
    return made;
}

// Returns the answer's text, received in a frame loop.
std::string heard(sotto::Engine& engine, sotto_request request) {
    std::string text;
    for (bool done = false; !done;) {
        const sotto::Frame frame(engine, 1'000'000);
        for (const sotto::Event& event : engine.events()) {
            text += event.text();
            done = done || (event.done() && event.request == request);
        }
    }
    return text;
}

} // namespace

TEST_CASE("a character answers in a frame loop while its character sheet changes") {
    auto npcs = engine();
    sotto::Session mara(npcs, "mara", {"npc", "be kind"});
    const auto turn = sotto::Turn().max_tokens(2).field("temperature", "0.5").user(3);
    CHECK(heard(npcs, mara.say("one \"two\" three", turn)) == "one \"two\"");
    heard(npcs, mara.say("a slip of the tongue"));
    mara.rewind();
    mara.set_system("be gruff");
    mara.pin();
    mara.pin(false);
    auto fork = mara.fork("fork");
    CHECK(heard(npcs, fork.say("four")) == "four");
    std::string json;
    sotto_request reading = 0;
    sotto::check(sotto_engine_read_session(npcs.get(), sotto::str("mara"), SOTTO_REQUEST_PRIVATE, &reading));
    sotto::wait(npcs.get(), reading, &json);
    CHECK(json.find("be gruff") != std::string::npos);
    CHECK(json.find("four") == std::string::npos);
    CHECK(json.find("a slip") == std::string::npos);
}

TEST_CASE("handles are movable, close themselves, and may be destroyed in any order") {
    static_assert(
        !std::is_copy_constructible_v<sotto::Engine> && std::is_move_constructible_v<sotto::Engine>
    );
    static_assert(!std::is_copy_constructible_v<sotto::Session> && std::is_move_assignable_v<sotto::Session>);
    auto first = engine();
    auto npcs = std::move(first);
    CHECK(first.get() == nullptr);
    {
        sotto::Session mara(npcs, "mara", {"npc"});
        sotto::Session moved = std::move(mara);
        sotto::Session odo(npcs, "odo", {"npc"});
        moved = std::move(odo);
        CHECK(moved.id() == "odo");
    }
    sotto::Session again(npcs, "mara", {"npc"}); // both are closed
    CHECK(heard(npcs, again.say("hi")) == "hi");
    {
        const auto gone = std::move(npcs);
    }
    CHECK_THROWS_AS(again.say("hi"), sotto::Error); // its engine was destroyed
}

TEST_CASE("a session that cannot be opened does not affect an existing one with the same id") {
    auto npcs = engine();
    sotto::Session mara(npcs, "mara", {"npc"});
    heard(npcs, mara.say("one"));
    CHECK_THROWS_AS(sotto::Session(npcs, "mara", {"npc"}), sotto::Error);
    CHECK_THROWS_AS(sotto::Session(npcs, "odo", {"npc", {}, R"([{"role": "npc"}])"}), sotto::Error);
    CHECK_THROWS_AS(mara.fork("mara"), sotto::Error);
    const auto saved = mara.messages();
    CHECK(saved == R"([{"role":"user","content":"one"},{"role":"assistant","content":"one"}])");
    CHECK(mara.fork("first", 1).messages() == R"([{"role":"user","content":"one"}])");
    mara.close();
    mara = sotto::Session(npcs, "mara", {"npc", "be kind", saved}); // a saved game is loaded
    CHECK(heard(npcs, mara.say("two")) == "two");
    CHECK(mara.messages().find("be kind") != std::string::npos);
}

TEST_CASE("a token session is edited, and its state is restored") {
    auto npcs = engine();
    constexpr const char* kOptions =
        R"({"token_ids": true, "tokens": ["a", "b"], "fingerprint": "{\"model\":\"a1\"}"})";
    npcs.wait(npcs.load_model("raw", kOptions, SOTTO_REQUEST_PRIVATE));
    using Tokens = std::vector<std::int32_t>;
    sotto::TokenSession raw(npcs, "raw", "raw", {5, 6, 7});
    sotto::TokenSession empty(npcs, "empty", "raw");
    CHECK(empty.tokens().empty());
    npcs.wait(raw.complete({8}, R"("max_tokens": 2)", SOTTO_REQUEST_PRIVATE));
    CHECK(raw.tokens() == Tokens{5, 6, 7, 8, 0, 1});
    CHECK(raw.copy("copy", 1, 3).tokens() == Tokens{6, 7});
    raw.cut(1, 3);
    raw.shift(-2, 3);
    npcs.wait(raw.complete({}, {}, SOTTO_REQUEST_PRIVATE));
    raw.cut(4);
    CHECK(raw.tokens() == Tokens{5, 8, 0, 1});
    const auto state = raw.state();
    CHECK(state.size() > 32);
    npcs.wait(npcs.restore_state("raw", state, SOTTO_REQUEST_PRIVATE));
    const auto refused = npcs.restore_state("raw", state.substr(1), SOTTO_REQUEST_PRIVATE);
    CHECK_THROWS_AS(npcs.wait(refused), sotto::Error);
    sotto::Session mara(npcs, "mara", {"raw", "be kind"});
    CHECK(mara.state() == state); // the script has one state
    CHECK_THROWS_AS(empty.state(), sotto::Error);
}

TEST_CASE("errors are thrown with the library's message and status") {
    auto npcs = engine();
    try {
        npcs.wait(
            npcs.submit(SOTTO_OP_CHAT, R"({"model": "nobody", "messages": []})", SOTTO_REQUEST_PRIVATE)
        );
        FAIL("it was answered");
    } catch (const sotto::Error& error) {
        CHECK(error.status() < 0);
        CHECK(std::string(error.what()).size() > 5);
    }
    auto wrong = SOTTO_INIT(sotto_engine_desc);
    wrong.target_tps = -1;
    CHECK_THROWS_AS(sotto::Engine{wrong}, sotto::Error);
    CHECK_FALSE(npcs.cancel(12345));
    CHECK(npcs.events().begin() == npcs.events().end());
}

TEST_CASE("text is encoded as JSON, and a field is decoded from it") {
    CHECK(sotto::quote("a \"b\"") == R"("a \"b\"")");
    bool complete = true;
    CHECK(sotto::field(R"({"say": "Stay aw)", "say", &complete) == "Stay aw");
    CHECK_FALSE(complete);
}
