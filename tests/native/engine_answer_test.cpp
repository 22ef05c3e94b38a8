// Events of a request, from the first to the last.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/tapped_backend.hpp"
#include "text/json_reader.hpp"
#include "text/utf8_stream.hpp"

using namespace test;
using sotto::Json;

namespace {

std::vector<sotto_event_kind> kinds(const History& history) {
    std::vector<sotto_event_kind> all;
    for (const auto& event : history) {
        if (all.empty() || event.kind != SOTTO_EVENT_TEXT || all.back() != SOTTO_EVENT_TEXT) {
            all.push_back(event.kind);
        }
    }
    return all;
}

const Told& finish_of(const History& history) {
    for (const auto& event : history) {
        if (event.kind == SOTTO_EVENT_CHOICE_DONE) {
            return event;
        }
    }
    FAIL("there is no FINISH");
    return history.front();
}

// A script without tokens repeats the last message word by word.
const char* const kEcho = "{}";

} // namespace

TEST_CASE("events arrive in order: accepted, text, choice done, request done") {
    Game game;
    game.have("npc", kEcho);
    const auto request = game.ask("npc", "one two three", {.user = 42});
    const auto& history = game.finish(request);
    CHECK(
        kinds(history) ==
        std::vector<sotto_event_kind>{
            SOTTO_EVENT_ACCEPTED, SOTTO_EVENT_TEXT, SOTTO_EVENT_CHOICE_DONE, SOTTO_EVENT_REQUEST_DONE
        }
    );
    CHECK(said(history) == "one two three");
    CHECK(count(history, SOTTO_EVENT_TEXT) == 3);
    CHECK(finish_of(history).finish == SOTTO_FINISH_STOP);
    CHECK(done(history).status == SOTTO_OK);
    CHECK(done(history).error.empty());
    CHECK(done(history).tokens == 3);
    CHECK(std::all_of(history.begin(), history.end(), [&](const Told& event) {
        return event.user == 42 && event.request == request;
    }));
}

TEST_CASE("the last event contains the complete response with correct counts") {
    Game game;
    game.have("npc", R"({"tokens": ["Hel", "lo"], "prompt_tokens": 10, "cached_tokens": 4})");
    const auto response = Json::parse(done(game.finish(game.ask("npc", "hi"))).json);
    CHECK(response["object"] == "chat.completion");
    CHECK(response["model"] == "npc");
    CHECK(response["choices"][0]["message"]["content"] == "Hello");
    CHECK(response["choices"][0]["finish_reason"] == "stop");
    CHECK(response["usage"]["prompt_tokens"] == 10);
    CHECK(response["usage"]["prompt_tokens_details"]["cached_tokens"] == 4);
    CHECK(response["usage"]["completion_tokens"] == 2);
    CHECK(response["usage"]["total_tokens"] == 12);
    CHECK(response["timings"]["first_token_ms"] >= response["timings"]["prompt_ms"]);
}

TEST_CASE("a fully cached prompt needs no prefill") {
    Game game;
    game.have("npc", R"({"tokens": ["a"], "prompt_tokens": 10, "cached_tokens": 12})");
    const auto response = Json::parse(done(game.finish(game.ask("npc", "hi"))).json);
    CHECK(response["usage"]["prompt_tokens_details"]["cached_tokens"] == 10);
    CHECK(response["choices"][0]["message"]["content"] == "a");
}

TEST_CASE("a text completion continues its prompt") {
    Game game;
    game.have("npc", kEcho);
    const auto request =
        game.submit(R"({"model": "npc", "prompt": "once upon a time"})", {}, SOTTO_OP_COMPLETION);
    const auto& history = game.finish(request);
    CHECK(said(history) == "once upon a time");
    CHECK(Json::parse(done(history).json)["choices"][0]["text"] == "once upon a time");
}

TEST_CASE("chunks accompany the events if requested, and add up to the answer") {
    Game game;
    game.have("npc", kEcho);
    const auto request = game.ask(
        "npc",
        "a b c",
        {.more = R"(, "stream_options": {"include_usage": true})", .flags = SOTTO_REQUEST_CHUNKS}
    );
    const auto& history = game.finish(request);
    CHECK(kinds(history)[3] == SOTTO_EVENT_USAGE);
    CHECK(done(history).json.empty());
    std::string content;
    for (const auto& event : history) {
        const bool has_chunk = event.kind == SOTTO_EVENT_TEXT || event.kind == SOTTO_EVENT_CHOICE_DONE ||
                               event.kind == SOTTO_EVENT_USAGE;
        REQUIRE(event.json.empty() != has_chunk);
        if (event.kind == SOTTO_EVENT_TEXT) {
            const auto delta = Json::parse(event.json)["choices"][0]["delta"];
            CHECK(delta["content"] == event.text);
            CHECK(delta.contains("role") == content.empty());
            content += delta["content"];
        } else if (event.kind == SOTTO_EVENT_USAGE) {
            CHECK(Json::parse(event.json)["usage"]["completion_tokens"] == 3);
        }
    }
    CHECK(content == "a b c");
    CHECK(Json::parse(finish_of(history).json)["choices"][0]["finish_reason"] == "stop");
    const auto plain = game.ask("npc", "a", {.flags = SOTTO_REQUEST_CHUNKS});
    CHECK(count(game.finish(plain), SOTTO_EVENT_USAGE) == 0);
}

TEST_CASE("characters are delivered whole, however tokens split them") {
    Game game;
    game.have("npc", R"({"hex": ["e2", "82ac", "61f0", "9f", "98", "80", "c3"]})");
    const auto& history = game.finish(game.ask("npc", "hi"));
    for (const auto& event : history) {
        CHECK(sotto::is_utf8(event.text));
    }
    CHECK(
        said(history) == "\xE2\x82\xAC"
                         "a"
                         "\xF0\x9F\x98\x80"
                         "\xEF\xBF\xBD"
    );
    CHECK(finish_of(history).tokens == 7);
    CHECK(Json::parse(done(history).json)["choices"][0]["message"]["content"] == said(history));
}

TEST_CASE("a stop sequence ends the answer and is never delivered, not even in part") {
    Game game;
    game.have("npc", R"({"tokens": ["Hello", " E", "N", "D", " and more"]})");
    const auto& stopped = game.finish(game.ask("npc", "hi", {.more = R"(, "stop": ["END", "never"])"}));
    CHECK(said(stopped) == "Hello ");
    CHECK(finish_of(stopped).finish == SOTTO_FINISH_STOP);
    CHECK(done(stopped).tokens == 4);
    const auto& whole = game.finish(game.ask("npc", "hi", {.more = R"(, "stop": "ENDING")"}));
    CHECK(said(whole) == "Hello END and more");
    const auto& held = game.finish(game.ask("npc", "hi", {.more = R"(, "stop": " and more!")"}));
    // text held back as a possible stop sequence is delivered in the end
    CHECK(said(held) == "Hello END and more");
}

TEST_CASE("an answer is limited to max_tokens") {
    Game game;
    game.have("npc", R"({"tokens": ["a", "b", "c"], "loop": true})");
    const auto& history = game.finish(game.ask("npc", "hi", {.more = R"(, "max_tokens": 5)"}));
    CHECK(said(history) == "abcab");
    CHECK(finish_of(history).finish == SOTTO_FINISH_LENGTH);
    CHECK(Json::parse(done(history).json)["usage"]["completion_tokens"] == 5);
    const auto& cut = game.finish(game.ask("npc", "hi", {.more = R"(, "max_tokens": 2, "stop": "bc")"}));
    CHECK(said(cut) == "ab"); // held back, then delivered
    CHECK(finish_of(cut).finish == SOTTO_FINISH_LENGTH);
    game.have("full", R"({"tokens": ["a"], "finish": "length"})");
    CHECK(finish_of(game.finish(game.ask("full", "hi"))).finish == SOTTO_FINISH_LENGTH);
    game.have("mute", R"({"tokens": []})");
    const auto& mute = game.finish(game.ask("mute", "hi"));
    CHECK(
        kinds(mute) ==
        std::vector<sotto_event_kind>{SOTTO_EVENT_ACCEPTED, SOTTO_EVENT_CHOICE_DONE, SOTTO_EVENT_REQUEST_DONE}
    );
    CHECK(done(mute).tokens == 0);
}

TEST_CASE("an invalid request ends with the reason and is never accepted") {
    Game game;
    game.have("npc", kEcho);
    const auto& bad = game.finish(game.submit("{\"model\": \"npc\"}"));
    CHECK(bad.size() == 1);
    CHECK(done(bad).status == SOTTO_ERROR_ARGUMENT);
    CHECK(done(bad).error == "missing messages: expected an array of messages");
    const auto& lost = game.finish(game.ask("nobody", "hi"));
    CHECK(done(lost).status == SOTTO_ERROR_NOT_FOUND);
    CHECK(done(lost).error == "model 'nobody' is not loaded: load it first with sotto_engine_load_model()");
    CHECK(
        done(game.finish(game.ask("npc", "hi", {.more = R"(, "context_overflow": 2)"}))).status ==
        SOTTO_ERROR_ARGUMENT
    );
}

TEST_CASE("a stream that cannot be opened fails without affecting others") {
    Game game;
    game.have("npc", kEcho);
    game.have("shy", R"({"fail_open": "not now"})");
    const auto good = game.ask("npc", "still here");
    const auto& failed = game.finish(game.ask("shy", "hi"));
    CHECK(kinds(failed) == std::vector<sotto_event_kind>{SOTTO_EVENT_ACCEPTED, SOTTO_EVENT_REQUEST_DONE});
    CHECK(done(failed).status == SOTTO_ERROR_INFERENCE);
    CHECK(done(failed).error == "not now");
    CHECK(said(game.finish(good)) == "still here");
    CHECK(done(game.finish(game.ask("shy", "again"))).error == "not now"); // and frees its slot
}

TEST_CASE("a failed step fails every stream in it") {
    Held held;
    Game game(held.backend.table());
    game.have("npc", R"({"tokens": ["a", "b", "c", "d"], "fail_step": 2})");
    held.gate.shut();
    const auto first = game.ask("npc", "hi");
    REQUIRE(held.gate.reached());
    const auto second = game.ask("npc", "hi");
    game.until_told(second, SOTTO_EVENT_ACCEPTED);
    held.gate.open();
    for (const auto request : {first, second}) {
        const auto& history = game.finish(request);
        CHECK(done(history).status == SOTTO_ERROR_INFERENCE);
        CHECK(done(history).error == "the script fails the step at token 2");
    }
    CHECK(held.backend.count(Point::open) == 2);
}

TEST_CASE("a stream that fails in a step does not affect the other streams of that step") {
    Held held;
    held.backend.tap = [stand = held.backend.tap](Point point, const sotto_step* step) {
        stand(point, step);
        if (point == Point::stepped && step->count == 2) {
            step->items[1]->status = SOTTO_ERROR_INFERENCE;
            step->items[1]->reason = str("this one is unwell");
        }
    };
    Game game(held.backend.table());
    game.have("npc", kEcho);
    held.gate.shut();
    const auto first = game.ask("npc", "a b c d e f g h");
    REQUIRE(held.gate.reached());
    const auto second = game.ask("npc", "a b c d e f g h");
    game.until_told(second, SOTTO_EVENT_ACCEPTED);
    held.gate.open();
    CHECK(done(game.finish(second)).status == SOTTO_ERROR_INFERENCE);
    CHECK(done(game.of(second)).error == "this one is unwell");
    CHECK(said(game.finish(first)) == "a b c d e f g h");
    game.have("frail", R"({"fail_at": 2})");
    const auto& frail = game.finish(game.ask("frail", "a b c d"));
    CHECK(said(frail) == "a b");
    CHECK(done(frail).error == "the script fails at token 2");
}

TEST_CASE("streams that decode concurrently share a step unless the model cannot batch") {
    for (const bool together : {true, false}) {
        Held held;
        Game game(held.backend.table());
        game.have("npc", together ? "{}" : R"({"batchable": false})");
        held.gate.shut();
        std::vector<sotto_request> all = {game.ask("npc", "one two three four")};
        REQUIRE(held.gate.reached());
        all.push_back(game.ask("npc", "five six seven"));
        all.push_back(game.ask("npc", "eight nine"));
        game.until_told(all[2], SOTTO_EVENT_ACCEPTED);
        held.gate.open();
        CHECK(said(game.finish(all[0])) == "one two three four");
        CHECK(said(game.finish(all[1])) == "five six seven");
        CHECK(said(game.finish(all[2])) == "eight nine");
        std::size_t most = 0;
        for (const auto& step : held.backend.steps()) {
            most = std::max(most, step.tokens.size());
        }
        CHECK(most == (together ? 3 : 1));
    }
}

TEST_CASE("requests of equal priority are answered in submission order") {
    Game game;
    game.have("npc", R"({"streams": 1})");
    std::vector<sotto_request> asked;
    for (int i = 0; i < 8; ++i) {
        asked.push_back(game.ask("npc", "one two three"));
    }
    game.finish(asked.back());
    std::vector<sotto_request> ended;
    for (const auto& event : game.all()) {
        if (event.kind == SOTTO_EVENT_REQUEST_DONE && event.tokens > 0) {
            ended.push_back(event.request);
        }
    }
    CHECK(ended == asked);
}

TEST_CASE("a long prompt is prefilled in slices, smaller ones unless compute has priority") {
    for (const auto& [mode, most] :
         {std::pair(SOTTO_MODE_PRIORITIZE_GRAPHICS, 640U), std::pair(SOTTO_MODE_PRIORITIZE_COMPUTE, 3000U)}) {
        TappedBackend backend;
        auto desc = plain_desc();
        desc.mode = mode;
        Game game(desc, backend.table());
        game.have("npc", R"({"tokens": ["a"], "prompt_tokens": 3000, "prompt_token_ms": 0.25})");
        game.finish(game.ask("npc", "hi"));
        std::uint32_t total = 0;
        std::uint32_t largest = 0;
        for (const auto& step : backend.steps()) {
            REQUIRE(step.tokens.size() == 1);
            CHECK(step.tokens[0] <= most);
            // if the machine runs idle-class threads
            const bool idle = step.thread_class == SOTTO_THREAD_IDLE;
            CHECK_FALSE((idle && mode == SOTTO_MODE_PRIORITIZE_COMPUTE));
            total += step.tokens[0];
            largest = std::max(largest, step.tokens[0]);
        }
        CHECK(total == 3000);
        CHECK((largest > 640) == (mode == SOTTO_MODE_PRIORITIZE_COMPUTE));
    }
}
