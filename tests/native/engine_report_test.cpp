// What responses report beside the answer: why it ended, the ids of its tokens, the values in effect.
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "text/json_reader.hpp"

using namespace test;
using sotto::Json;

namespace {

Json response_of(Game& game, std::string_view more, sotto_op op = SOTTO_OP_CHAT) {
    const auto request =
        op == SOTTO_OP_CHAT
            ? game.ask("npc", "hi", {.more = more})
            : game.submit(R"({"model": "npc", "prompt": "hi")" + std::string(more) + "}", {}, op);
    return Json::parse(done(game.finish(request)).json);
}

// The ids in the chunks of an answer, in order; each chunk with text has the member.
Json streamed_ids(Game& game, std::string_view more) {
    const auto request = game.ask("npc", "hi", {.more = more, .flags = SOTTO_REQUEST_CHUNKS});
    auto ids = Json::array();
    for (const auto& event : game.finish(request)) {
        if (event.kind == SOTTO_EVENT_TEXT || event.kind == SOTTO_EVENT_CHOICE_DONE) {
            const auto chunk = Json::parse(event.json);
            for (const auto& id : chunk["choices"][0].at("tokens")) {
                ids.push_back(id);
            }
        }
    }
    return ids;
}

} // namespace

TEST_CASE("a choice says what ended it") {
    struct Case {
        const char* script;
        const char* more;
        const char* type;
        const char* word;
    };
    for (const auto& [script, more, type, word] : {
             Case{R"({"tokens": ["a", "b"]})", "", "eos", ""},
             Case{R"({"tokens": ["a", "b"], "finish": "length"})", "", "limit", ""},
             Case{R"({"tokens": ["a", "b"]})", R"(, "max_tokens": 1)", "limit", ""},
             Case{R"({"tokens": ["a", " E", "ND", "b"]})", R"(, "stop": ["x", "END"])", "word", "END"},
             Case{R"({"tokens": ["a", "<e>"], "stops": ["<e>"]})", "", "word", "<e>"},
         }) {
        CAPTURE(script);
        CAPTURE(more);
        Game game;
        game.have("npc", script);
        const auto response = response_of(game, more);
        CHECK(response["choices"][0]["stop_type"] == type);
        CHECK(response["choices"][0]["stopping_word"] == word);
        const auto request = game.ask("npc", "hi", {.more = more, .flags = SOTTO_REQUEST_CHUNKS});
        for (const auto& event : game.finish(request)) {
            if (event.kind == SOTTO_EVENT_CHOICE_DONE) {
                CHECK(Json::parse(event.json)["choices"][0]["stop_type"] == type);
            }
        }
    }
}

TEST_CASE("a request may ask for the progress of its prefill") {
    Game game;
    game.have("npc", R"({"tokens": ["a", "b"], "prompt_tokens": 600})");
    const std::string more = R"(, "n": 2, "return_progress": true, "timings_per_token": true)";
    std::uint32_t processed = 0;
    std::size_t told = 0;
    for (const auto& event :
         game.finish(game.ask("npc", "hi", {.more = more, .flags = SOTTO_REQUEST_CHUNKS}))) {
        if (event.kind == SOTTO_EVENT_PROGRESS) {
            const auto chunk = Json::parse(event.json);
            const auto progress = chunk.at("prompt_progress");
            CHECK(event.index == 0);
            CHECK(progress["total"] == 600);
            CHECK((told == 0) == (progress["processed"] == 0));
            CHECK((told == 0 || progress["processed"] > processed));
            processed = progress["processed"];
            CHECK(event.progress == doctest::Approx(processed / 600.0));
            CHECK(chunk["timings"]["prompt_n"] == processed);
            ++told;
        } else if (event.kind == SOTTO_EVENT_TEXT) {
            CHECK(Json::parse(event.json).contains("timings"));
        }
    }
    CHECK(processed == 600);
    CHECK(told > 1);
    for (const auto& event : game.finish(game.ask("npc", "hi", {.more = R"(, "return_progress": true)"}))) {
        CHECK((event.kind != SOTTO_EVENT_PROGRESS || event.json.empty()));
    }
    for (const auto& event : game.finish(game.ask("npc", "hi", {.flags = SOTTO_REQUEST_CHUNKS}))) {
        CHECK(event.kind != SOTTO_EVENT_PROGRESS);
    }
}

TEST_CASE("a response names the backend's build and is truncated once the context is full") {
    Game game;
    game.have("npc", R"({"tokens": ["a", "b\n"], "truncated_at": 1})");
    const auto response = response_of(game, "");
    const auto fingerprint = response["system_fingerprint"].get<std::string>();
    CHECK(fingerprint.find("-sotto-" SOTTO_VERSION) != std::string::npos);
    CHECK(response["truncated"] == true);
    CHECK(response["choices"][0]["has_new_line"] == true);
    const auto shorter = response_of(game, R"(, "max_tokens": 1)");
    CHECK(shorter["truncated"] == false);
    CHECK(shorter["choices"][0]["has_new_line"] == false);
}

TEST_CASE("the ids of chunks and of the response are those of the generated tokens") {
    const char* wants = R"(, "return_tokens": true)";
    Game game;
    SUBCASE("each with its text") {
        game.have("npc", R"({"tokens": ["a", "b", "c"], "token_ids": true})");
        CHECK(response_of(game, wants)["choices"][0]["tokens"] == Json({0, 1, 2}));
        CHECK(streamed_ids(game, wants) == Json({0, 1, 2}));
    }
    SUBCASE("also of tokens without text, and of pieces of a character") {
        game.have("npc", R"({"hex": ["", "c3", "a4", "", "62", ""], "token_ids": true})");
        CHECK(response_of(game, wants)["choices"][0]["tokens"] == Json({0, 1, 2, 3, 4, 5}));
        CHECK(streamed_ids(game, wants) == Json({0, 1, 2, 3, 4, 5}));
    }
    SUBCASE("without those of a stop sequence") {
        game.have("npc", R"({"tokens": ["a", "b", " E", "ND"], "token_ids": true})");
        const auto more = std::string(wants) + R"(, "stop": " END")";
        CHECK(response_of(game, more)["choices"][0]["tokens"] == Json({0, 1}));
        CHECK(streamed_ids(game, more) == Json({0, 1}));
    }
    SUBCASE("not unless the request wants them") {
        game.have("npc", R"({"tokens": ["a"], "token_ids": true, "logprobs": true})");
        CHECK_FALSE(response_of(game, "")["choices"][0].contains("tokens"));
        const auto choice = response_of(game, R"(, "n_probs": 1)", SOTTO_OP_COMPLETION)["choices"][0];
        CHECK_FALSE(choice.contains("tokens"));
        CHECK_FALSE(choice.contains("completion_probabilities"));
    }
    SUBCASE("in completions also beside their probabilities") {
        game.have("npc", R"({"tokens": ["a", "b"], "token_ids": true, "logprobs": true})");
        const auto more = std::string(wants) + R"(, "n_probs": 1)";
        const auto choice = response_of(game, more, SOTTO_OP_COMPLETION)["choices"][0];
        CHECK(choice["tokens"] == Json({0, 1}));
        REQUIRE(choice["completion_probabilities"].size() == 2);
        CHECK(choice["completion_probabilities"][1]["token"] == "b");
    }
}

TEST_CASE("a backend that reports no tokens refuses return_tokens") {
    Game game;
    game.have("npc", "{}");
    const auto& history = game.finish(game.ask("npc", "hi", {.more = R"(, "return_tokens": true)"}));
    CHECK(done(history).status == SOTTO_ERROR_UNSUPPORTED);
    CHECK(
        done(history).error ==
        "return_tokens: backend 'scripted' does not report tokens; remove the field, or "
        "use another model"
    );
    const auto& wrong = game.finish(game.ask("npc", "hi", {.more = R"(, "return_tokens": 1)"}));
    CHECK(done(wrong).error == "invalid return_tokens '1': expected true or false");
}

TEST_CASE("a response repeats the values in effect if the request wants them") {
    Game game;
    game.have("npc", R"({"tokens": ["a"], "settings": {"top_k": 40}})");
    CHECK(response_of(game, R"(, "return_settings": true)")["generation_settings"] == Json{{"top_k", 40}});
    CHECK_FALSE(response_of(game, "").contains("generation_settings"));
}
