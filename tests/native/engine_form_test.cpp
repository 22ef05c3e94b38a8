// Answers with several parts: reasoning, tool calls, several choices, log probabilities.
#include <algorithm>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/tapped_backend.hpp"
#include "text/json_reader.hpp"

using namespace test;
using sotto::Json;

namespace {

// An answer with reasoning, content and two tool calls, the second without arguments.
const char* const kCalls = R"({"tokens": ["1", "2", "3", "4", "5"], "deltas": [
    [{"reasoning_content": "cold, "}, {"reasoning_content": "perhaps"}],
    [{"content": "Let me "}],
    [{"content": "look."}, {"tool_calls": [{"index": 0, "id": "c0", "type": "function",
        "function": {"name": "look", "arguments": ""}}]}],
    [{"tool_calls": [{"index": 0, "function": {"arguments": "{\"at\": "}}]}],
    [{"tool_calls": [{"index": 0, "function": {"arguments": "\"sky\"}"}}]}],
    [{"tool_calls": [{"index": 1, "id": "c1", "type": "function", "function": {"name": "wait", "arguments": ""}}]}]
]})";

std::vector<sotto_event_kind> kinds(const History& history) {
    std::vector<sotto_event_kind> all;
    for (const auto& event : history) {
        all.push_back(event.kind);
    }
    return all;
}

Json response_of(const History& history) {
    CHECK(done(history).status == SOTTO_OK);
    return Json::parse(done(history).json);
}

// Returns all events of a kind, as JSON.
std::vector<Json> told(const History& history, sotto_event_kind kind) {
    std::vector<Json> all;
    for (const auto& event : history) {
        if (event.kind == kind) {
            all.push_back(Json::parse(event.json));
        }
    }
    return all;
}

// Adds a chunk's delta of one choice to earlier ones.
void fold_choice(Json& choice, const Json& more) {
    if (choice.is_null()) {
        choice = {{"message", Json::object()}};
    }
    const Json& delta = more["delta"];
    Json& message = choice["message"];
    for (const char* key : {"role", "content", "reasoning_content"}) {
        if (delta.contains(key)) {
            message[key] = message.value(key, "") + delta[key].get<std::string>();
        }
    }
    for (const auto& part : delta.value("tool_calls", Json::array())) {
        Json& call = message["tool_calls"][part["index"].get<std::size_t>()];
        for (const char* key : {"id", "type"}) {
            if (part.contains(key)) {
                call[key] = part[key];
            }
        }
        if (part["function"].contains("name")) {
            call["function"]["name"] = part["function"]["name"];
        }
        auto& arguments = call["function"]["arguments"];
        arguments = (arguments.is_null() ? "" : arguments.get<std::string>()) +
                    part["function"]["arguments"].get<std::string>();
    }
    for (const auto& one : more.value("/logprobs/content"_json_pointer, Json::array())) {
        choice["logprobs"]["content"].push_back(one);
    }
    choice["index"] = more["index"];
    choice["finish_reason"] = more["finish_reason"];
    for (const char* key : {"stop_type", "stopping_word", "has_new_line"}) { // of the last chunk
        if (more.contains(key)) {
            choice[key] = more[key];
        }
    }
}

// Returns the choices that the chunks add up to, as in a response.
Json fold(const History& history) {
    Json choices = Json::array();
    for (const auto& event : history) {
        if (event.kind == SOTTO_EVENT_ACCEPTED || event.kind == SOTTO_EVENT_REQUEST_DONE) {
            continue;
        }
        const auto chunk = Json::parse(event.json);
        for (const auto& more : chunk["choices"]) {
            fold_choice(choices[more["index"].get<std::size_t>()], more);
        }
    }
    for (auto& choice : choices) {
        if (!choice["message"].contains("content")) {
            choice["message"]["content"] = choice["message"].contains("tool_calls") ? Json() : Json("");
        }
    }
    return choices;
}

// Requests an answer with and without chunks, and checks that both agree. Returns the choices.
Json both_ways(Game& game, const char* model, std::string_view more = "") {
    const auto whole = response_of(game.finish(game.ask(model, "hi", {.more = more})))["choices"];
    const auto parts =
        fold(game.finish(game.ask(model, "hi", {.more = more, .flags = SOTTO_REQUEST_CHUNKS})));
    CHECK(parts == whole);
    return whole;
}

// The name and the arguments of each tool call in a message.
std::vector<std::string> calls(const Json& message) {
    std::vector<std::string> all;
    for (const auto& call : message.value("tool_calls", Json::array())) {
        all.push_back(
            call["function"]["name"].get<std::string>() + " " +
            call["function"]["arguments"].get<std::string>()
        );
    }
    return all;
}

using Texts = std::vector<std::string>;

} // namespace

TEST_CASE("reasoning and tool calls have events of their own; a call is delivered when complete") {
    Game game;
    game.have("npc", kCalls);
    const auto& history = game.finish(game.ask("npc", "hi"));
    CHECK(
        kinds(history) == std::vector<sotto_event_kind>{
                              SOTTO_EVENT_ACCEPTED,
                              SOTTO_EVENT_REASONING,
                              SOTTO_EVENT_REASONING,
                              SOTTO_EVENT_TEXT,
                              SOTTO_EVENT_TEXT,
                              SOTTO_EVENT_TOOL_CALL,
                              SOTTO_EVENT_TOOL_CALL,
                              SOTTO_EVENT_CHOICE_DONE,
                              SOTTO_EVENT_REQUEST_DONE
                          }
    );
    CHECK(said(history) == "Let me look.");
    CHECK(history[1].text + history[2].text == "cold, perhaps");
    CHECK(history[5].text == "look");
    const Json look = {
        {"id", "c0"},
        {"type", "function"},
        {"function", {{"name", "look"}, {"arguments", R"({"at": "sky"})"}}}
    };
    CHECK(Json::parse(history[5].json) == look);
    CHECK(history[6].text == "wait");
    CHECK(Json::parse(history[6].json)["function"]["arguments"] == "{}");
    CHECK(history[7].finish == SOTTO_FINISH_TOOL_CALLS);
    const auto choice = response_of(history)["choices"][0];
    CHECK(choice["finish_reason"] == "tool_calls");
    CHECK(choice["message"]["content"] == "Let me look.");
    CHECK(choice["message"]["reasoning_content"] == "cold, perhaps");
    CHECK(choice["message"]["tool_calls"][0] == look);
}

TEST_CASE("chunks deliver a call piece by piece, and its first chunk names it") {
    Game game;
    game.have("npc", kCalls);
    const auto& history = game.finish(game.ask("npc", "hi", {.flags = SOTTO_REQUEST_CHUNKS}));
    const auto chunks = told(history, SOTTO_EVENT_TOOL_CALL);
    REQUIRE(chunks.size() == 5);
    const auto part = [&](std::size_t i) { return chunks[i]["choices"][0]["delta"]["tool_calls"][0]; };
    const Json first = {
        {"index", 0}, {"id", "c0"}, {"type", "function"}, {"function", {{"name", "look"}, {"arguments", ""}}}
    };
    const Json second = {{"index", 0}, {"function", {{"arguments", R"({"at": )"}}}};
    CHECK(part(0) == first);
    CHECK(part(1) == second);
    CHECK(part(3)["index"] == 1);
    CHECK(part(4)["function"]["arguments"] == "{}"); // of a tool without parameters
    both_ways(game, "npc");
}

TEST_CASE("a call with incomplete arguments is dropped") {
    Game game;
    game.have("cut", R"({"tokens": ["1", "2", "3"], "deltas": [
        [{"content": "so"}],
        [{"tool_calls": [{"index": 0, "id": "c0", "function": {"name": "look", "arguments": "{\"at\": \"s"}}]}]
    ]})");
    const auto& history = game.finish(game.ask("cut", "hi", {.more = R"(, "max_tokens": 2)"}));
    CHECK(count(history, SOTTO_EVENT_TOOL_CALL) == 0);
    const auto choice = response_of(history)["choices"][0];
    CHECK(choice["finish_reason"] == "length");
    CHECK_FALSE(choice["message"].contains("tool_calls"));
    CHECK(choice["message"]["content"] == "so");
    const auto stopped = response_of(game.finish(game.ask("cut", "hi")))["choices"][0];
    CHECK(stopped["finish_reason"] == "stop");
}

TEST_CASE("a dropped call does not affect the next one") {
    Game game;
    game.have("npc", R"({"tokens": ["1", "2", "3"], "deltas": [
        [{"tool_calls": [{"index": 0, "id": "c0", "function": {"name": "look", "arguments": "{\"at\":"}}]}],
        [{"tool_calls": [{"index": 1, "id": "c1", "function": {"name": "wait", "arguments": "{\"for\": "}}]}],
        [{"tool_calls": [{"index": 1, "function": {"arguments": "3}"}}]}],
        [{"tool_calls": [{"index": 0, "function": {"arguments": "1}"}}]}]
    ]})");
    const auto& history = game.finish(game.ask("npc", "hi"));
    CHECK(calls(response_of(history)["choices"][0]["message"]) == Texts{R"(wait {"for": 3})"});
    CHECK(count(history, SOTTO_EVENT_TOOL_CALL) == 1);
    const auto chunks = fold(game.finish(game.ask("npc", "hi", {.flags = SOTTO_REQUEST_CHUNKS})));
    CHECK(calls(chunks[0]["message"]) == Texts{R"(look {"at":)", R"(wait {"for": 3})"});
}

TEST_CASE("malformed deltas of a backend fail the request, and the engine continues") {
    Game game;
    for (const char* deltas :
         {R"([[{"tool_calls": [{"index": "x"}]}], []])", R"([[{"tool_calls": [3]}], []])"}) {
        game.have("odd", R"({"tokens": ["1", "2"], "deltas": )" + std::string(deltas) + "}");
        CHECK(done(game.finish(game.ask("odd", "hi"))).status == SOTTO_ERROR_INFERENCE);
        game.finish(game.unload("odd"));
    }
    game.have("npc");
    CHECK(said(game.finish(game.ask("npc", "still here"))) == "still here");
}

TEST_CASE("a model's own stop sequences end its answers, in addition to the request's") {
    Game game;
    game.have("npc", R"({"tokens": ["Hi", " <", "end", ">", "!"], "stops": ["<end>"]})");
    CHECK(both_ways(game, "npc")[0]["message"]["content"] == "Hi ");
    CHECK(both_ways(game, "npc", R"(, "stop": ["i"])")[0]["message"]["content"] == "H");
}

TEST_CASE("several choices are distinguished, and the request ends once") {
    Game game;
    game.have("npc", R"({"streams": 2})"); // fewer than requested
    const auto choices = both_ways(game, "npc", R"(, "n": 3)");
    REQUIRE(choices.size() == 3);
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(choices[i]["index"] == i);
        CHECK(choices[i]["message"]["content"] == "hi");
    }
    const auto& history = game.finish(game.ask("npc", "one two", {.more = R"(, "n": 3)"}));
    CHECK(count(history, SOTTO_EVENT_CHOICE_DONE) == 3);
    CHECK(count(history, SOTTO_EVENT_REQUEST_DONE) == 1);
    CHECK(count(history, SOTTO_EVENT_ACCEPTED) == 1);
    std::string of_last;
    for (const auto& event : history) {
        of_last += event.kind == SOTTO_EVENT_TEXT && event.index == 2 ? event.text : "";
    }
    CHECK(of_last == "one two");
    CHECK(response_of(history)["usage"]["completion_tokens"] == 6);
    CHECK(response_of(history)["usage"]["prompt_tokens"] == 2); // counted once for all choices
    game.have("calls", kCalls);
    CHECK(both_ways(game, "calls", R"(, "n": 2)")[1]["message"]["tool_calls"].size() == 2);
}

TEST_CASE("a cancelled request with several choices ends once and closes all its streams") {
    Held held;
    Game game(held.backend.table());
    game.have("npc", R"({"tokens": ["a"], "loop": true, "streams": 2})");
    held.gate.shut();
    const auto request = game.ask("npc", "hi", {.more = R"(, "n": 3)"});
    REQUIRE(held.gate.reached());
    game.cancel(request);
    const auto& history = game.finish(request);
    CHECK(done(history).status == SOTTO_ERROR_CANCELLED);
    held.gate.open();
    game.have("other");
    CHECK(said(game.finish(game.ask("other", "next"))) == "next");
    CHECK(count(game.of(request), SOTTO_EVENT_REQUEST_DONE) == 1);
    CHECK(game.of(request).back().kind == SOTTO_EVENT_REQUEST_DONE);
    game.end();
    CHECK(held.backend.count(Point::open) == held.backend.count(Point::close));
}

TEST_CASE("a failed choice fails the whole request, once") {
    Game game;
    game.have("npc", R"({"tokens": ["a", "b", "c"], "fail_at": 2})");
    const auto& history = game.finish(game.ask("npc", "hi", {.more = R"(, "n": 3)"}));
    CHECK(done(history).status == SOTTO_ERROR_INFERENCE);
    CHECK(count(history, SOTTO_EVENT_REQUEST_DONE) == 1);
    game.have("fine");
    CHECK(said(game.finish(game.ask("fine", "hi"))) == "hi");
}

TEST_CASE("log probabilities accompany the text, without tokens that a stop sequence removed") {
    Game game;
    game.have("npc", R"({"tokens": ["Hello", " E", "N", "D", " more"], "logprobs": true})");
    const auto tokens = [](const Json& choice) {
        Texts all;
        for (const auto& one : choice["logprobs"]["content"]) {
            all.push_back(one["token"].get<std::string>());
        }
        return all;
    };
    const auto whole = both_ways(game, "npc", R"(, "logprobs": true)");
    CHECK(tokens(whole[0]) == Texts{"Hello", " E", "N", "D", " more"});
    const auto stopped = both_ways(game, "npc", R"(, "logprobs": true, "stop": "END")");
    CHECK(stopped[0]["message"]["content"] == "Hello ");
    CHECK(tokens(stopped[0]) == Texts{"Hello", " E"}); // only a part of it is delivered
    const auto all = both_ways(game, "npc", R"(, "logprobs": true, "stop": " END")");
    CHECK(tokens(all[0]) == Texts{"Hello"});
    CHECK_FALSE(both_ways(game, "npc")[0].contains("logprobs"));
    game.have("silent", "{}");
    const auto& refused = game.finish(game.ask("silent", "hi", {.more = R"(, "logprobs": true)"}));
    CHECK(done(refused).status == SOTTO_ERROR_UNSUPPORTED);
}

TEST_CASE("structured output is refused by a backend that does not support it") {
    Game game;
    game.have("npc");
    const char* form = R"(, "response_format": {"type": "json_object"})";
    const auto& refused = game.finish(game.ask("npc", "hi", {.more = form}));
    CHECK(done(refused).status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(
        done(refused).error == "response_format: backend 'scripted' does not support structured output; "
                               "remove the field, or use another "
                               "model"
    );
    game.have("formal", R"({"constrainable": true})");
    CHECK(said(game.finish(game.ask("formal", "hi", {.more = form}))) == "hi");
}

TEST_CASE("an operation without steps is answered while all slots are in use") {
    Game game;
    game.have("npc", R"({"tokens": ["a"], "loop": true, "streams": 1, "token_ms": 1})");
    const auto busy = game.ask("npc", "hi");
    game.until_told(busy, SOTTO_EVENT_TEXT);
    const auto waits = game.ask("npc", "hi");
    const auto body = R"({"model": "npc", "content": "two words"})";
    const auto& answered = game.finish(game.submit(body, {}, SOTTO_OP_TOKENIZE));
    CHECK(answered.size() == 2);
    CHECK(response_of(answered)["tokens"] == Json({3, 6}));
    const auto& unknown =
        game.finish(game.submit(R"({"model": "npc", "tokens": [1]})", {}, SOTTO_OP_DETOKENIZE));
    CHECK(done(unknown).status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(count(game.of(waits), SOTTO_EVENT_TEXT) == 0);
    game.cancel(busy);
    game.until_told(waits, SOTTO_EVENT_TEXT);
}
