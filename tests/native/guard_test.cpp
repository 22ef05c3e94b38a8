// Tests of the guardrails: what is found in whole texts and in streamed ones, and what a configuration may
// hold.
#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "guard/guard.hpp"
#include "guard/phrase_checker.hpp"
#include "support/guarded.hpp"
#include "text/json_reader.hpp"

using namespace sotto::guard;
using namespace test;
using sotto::Error;
using sotto::Json;

namespace {

bool blocks(const std::string& config, const std::string& text) {
    return Guard(config).check(Stage::output, text).action == Action::block;
}

std::string refusal(const std::string& config) {
    try {
        const Guard guard(config);
    } catch (const Error& error) {
        CHECK(error.status() == SOTTO_ERROR_ARGUMENT);
        return error.what();
    }
    return {};
}

} // namespace

TEST_CASE("a phrase is found however it is written") {
    const auto config = phrases({"wizard", "kill", "drop dead"});
    for (const std::string text : {
             "the wizard",
             "WIZARD!",
             "a w1zard.",
             "w1z4rd",
             "w!zard",
             "wiz@rd",
             "wizzzzard",
             "w i z a r d",
             "w.i.z.a.r.d",
             "w-i-z-a-r-d",
             "w_i_z_a_r_d",
             "wi-zard",
             "w\u200bi\u200bz\u200bard",
             "wízàrd",
             "w\u0336i\u0336z\u0336a\u0336r\u0336d\u0336",
             "ｗｉｚａｒｄ",
             "𝔴𝔦𝔷𝔞𝔯𝔡",
             "ⓦⓘⓩⓐⓡⓓ",
             "wіzаrd",
             "ᴡɪᴢᴀʀᴅ",
             "wi\u00adzard",
             "w🙂i🙂z🙂a🙂r🙂d",
             "ki11",
             "kiII",
             "k i l l",
             "ki ll",
             "KILL",
             "k|ll",
             "kill3",
             "drop  dead",
             "drop\ndead",
             "dropdead",
             "d r o p  d e a d",
             "dr0p d34d",
             "d.r.o.p d.e.a.d",
             "kill l8r",
         }) {
        CAPTURE(text);
        CHECK(blocks(config, text));
    }
}

TEST_CASE("a phrase is not found in words that look like it") {
    const auto config =
        phrases({"ass", "pen is", "hell", "whore", "kill", "god", "fail", "ill", "shit", "as", "cop"});
    for (const std::string text : {
             "class",
             "c-l-a-s-s",
             "assess",
             "he'll",
             "who're",
             "skill",
             "good",
             "fall",
             "I'll",
             "It's hit or miss",
             "455 items",
             "Galaxy A55",
             "1455",
             "shell",
             "grass",
             "bass",
             "Cassandra",
             "passes",
             "asset",
             "hello",
             "сор в избе, а сор",
             "opens",
             "that's hit",
             "c o p e",
         }) {
        CAPTURE(text);
        CHECK_FALSE(blocks(config, text));
    }
}

TEST_CASE("phrases of other scripts") {
    const auto config = phrases({"傻逼", "дурак", "바보", "मूर्ख", "μαλάκας", "חמור"});
    for (const std::string text : {
             "你是傻逼吗",
             "傻 逼",
             "傻-逼",
             "ты дурак!",
             "ДУРАК",
             "д у р а к",
             "дypaк",
             "바보야",
             "तू मूर्ख है",
             "ΜΑΛΑΚΑΣ",
             "μαλακας",
             "חמור",
         }) {
        CAPTURE(text);
        CHECK(blocks(config, text));
    }
    CHECK_FALSE(blocks(config, "дурака"));
    CHECK_FALSE(blocks(config, "मूर्ति"));
}

TEST_CASE("letters of their own, stars, exceptions") {
    CHECK(blocks(phrases({"ano"}), "año"));
    CHECK_FALSE(blocks(phrases({"ano"}, {{"letters", "ñ"}}), "año AÑO"));
    CHECK(blocks(phrases({"ano"}, {{"letters", "ñ"}}), "àno"));
    CHECK(blocks(phrases({"idiot*"}), "idiotic"));
    CHECK_FALSE(blocks(phrases({"idiot"}), "idiotic"));
    CHECK(blocks(phrases({"ass"}, {{"whole_words", false}}), "class"));
    const auto allowing = phrases({"cock"}, {{"allow", {"cock robin", "peacock"}}});
    CHECK_FALSE(blocks(allowing, "who killed cock robin"));
    CHECK(blocks(allowing, "cock robin and a cock"));
}

TEST_CASE("a rewritten text goes on to the next checker") {
    const auto config = R"({"output": [
        {"type": "phrases", "name": "words", "phrases": ["red", "blue"], "action": "rewrite", "mask": "#"},
        {"type": "regex", "patterns": ["\\d{3,}"], "action": "rewrite", "replacement": "[number]"},
        {"type": "regex", "name": "marks", "category": "marks", "patterns": ["####"]}]})";
    const Guard guard(config);
    const auto verdict = guard.check(Stage::output, "red 1234 x");
    CHECK(verdict.action == Action::rewrite);
    CHECK(verdict.original == "red 1234 x");
    CHECK(verdict.rewritten == "### [number] x");
    CHECK(verdict.checker == "words");
    const auto blocked = guard.check(Stage::output, "blue");
    CHECK(blocked.action == Action::block);
    CHECK(blocked.checker == "marks");
    CHECK(
        to_json(blocked) ==
        R"({"action":{"Block":{"reason":"marks detected"}},"checker_name":"marks","score":1.0,"allowed":false,"category":"marks"})"
    );
    CHECK(
        to_json(guard.check(Stage::output, "green")) ==
        R"({"action":"Allow","checker_name":"marks","score":null,"allowed":true,"category":null})"
    );
    CHECK(guard.check(Stage::input, "red").action == Action::allow);
    for (const std::size_t step : {1, 2, 3, 7, 100}) {
        const auto streamed = stream(config, "red 1234 x blue1", step);
        CHECK(streamed.text == "### [number] x ");
        CHECK(streamed.blocked);
    }
}

TEST_CASE("no part of what is blocked is released") {
    const auto config = phrases({"red wizard", "kill", "kill the king slowly"}, {{"allow", {"kill bill"}}});
    const std::vector<std::string> blocked{
        "Meet the red wizard now.",
        "Meet the r e d wizard",
        "They k.i.l.l",
        "k\u200bi\u200bll them",
        "now kiII",
        "kill",
        "a kill bill, a kill",
        "the reDwIZard!",
        "kkkkiiiillll him",
    };
    for (const auto& text : blocked) {
        CAPTURE(text);
        const Guard guard(config);
        REQUIRE(guard.check(Stage::output, text).action == Action::block);
        std::string before;
        for (const std::size_t step : {1, 2, 3, 5, 1000}) {
            const auto streamed = stream(config, text, step);
            CHECK(streamed.blocked);
            CHECK(text.compare(0, streamed.text.size(), streamed.text) == 0);
            CHECK(guard.check(Stage::output, streamed.text).action == Action::allow);
            CHECK((step == 1 || streamed.text == before));
            before = streamed.text;
        }
    }
    for (const std::string text :
         {"Meet the red wiz. A skill to redeem", "kill bill", "the red, wizen king"}) {
        const auto streamed = stream(config, text, 1);
        CHECK_FALSE(streamed.blocked);
        CHECK(streamed.text == text);
    }
    CHECK(stream(config, "nothing here begins like one of them; go on and on", 1).most_held <= 2);
}

TEST_CASE("streamed regular expressions hold back what may become a match") {
    const auto config =
        R"({"output": [{"type": "regex", "patterns": ["\\bab+c\\b", "(?:xy){2}z", "\\d+-\\d{4}"]}]})";
    const Guard guard(config);
    for (const std::string text : {
             "say abbbbc now", "an xyxyz", "call 12-3456", "abc", "ab abx xyxy 12-345 end", "zabcd", "xyxyxyz"
         }) {
        CAPTURE(text);
        const bool expected = guard.check(Stage::output, text).action == Action::block;
        for (const std::size_t step : {1, 2, 5}) {
            const auto streamed = stream(config, text, step);
            CHECK(streamed.blocked == expected);
            CHECK(guard.check(Stage::output, streamed.text).action == Action::allow);
            CHECK((expected || streamed.text == text));
        }
    }
    CHECK(stream(config, "plain words without any of it", 1).most_held <= 1);
    CHECK(
        stream(R"({"output": [{"type": "regex", "patterns": ["^start", "end$"]}]})", "no start, end. end", 1)
            .text == "no start, end. "
    );
}

TEST_CASE("a refused configuration names the place") {
    CHECK(refusal("[]").find("invalid config") != std::string::npos);
    CHECK(refusal("{").find("expected JSON") != std::string::npos);
    CHECK(
        refusal(R"({"inputs": []})") ==
        "invalid config 'inputs': expected only the fields input, output, image_prompt"
    );
    CHECK(
        refusal(R"({"input": [{"type": "words"}]})") ==
        "invalid input[0].type 'words': expected \"phrases\", \"regex\", \"topics\" or \"judge\""
    );
    CHECK(
        refusal(R"({"input": [{"type": "phrases"}]})") ==
        "missing input[0].phrases: expected a list of strings"
    );
    CHECK(
        refusal(R"({"input": [{"type": "phrases", "phrases": ["a", 7]}]})") ==
        "invalid input[0].phrases[1] '7': expected a string"
    );
    CHECK(
        refusal(R"({"input": [{"type": "phrases", "phrases": ["..."]}]})") ==
        "invalid input[0].phrases[0] '...': expected a phrase of 1 to 256 letters"
    );
    CHECK(
        refusal(R"({"output": [{"type": "regex", "patterns": ["("]}]})") ==
        "invalid output[0].patterns[0] '(': expected an expression of RE2; missing ): ("
    );
    CHECK(
        refusal(Json{{"output", {{{"type", "regex"}, {"patterns", {std::string(1 << 20, 'a')}}}}}}.dump())
            .find("invalid output[0].patterns[0] 'aaa") == 0
    );
    CHECK(
        refusal(R"({"output": [{"type": "regex", "patterns": ["(a{1000}){1000}"]}]})").find("patterns[0]") !=
        std::string::npos
    );
    CHECK(
        refusal(R"({"output": [{"type": "regex", "patterns": ["a*"]}]})").find("matches the empty text") !=
        std::string::npos
    );
    CHECK(
        refusal(R"({"output": [{"type": "phrases", "phrases": ["a"], "mask": "*"}]})")
            .find("output[0].mask") != std::string::npos
    );
}

TEST_CASE("a long text") {
    std::string text;
    while (text.size() < 1'000'000) {
        text += "aaaa b c d aaaa ";
    }
    const auto config = phrases({"a b c d e", "aaaabe"});
    CHECK_FALSE(blocks(config, text));
    CHECK(blocks(config, text + "a b c d e"));
    CHECK_FALSE(blocks(
        R"({"output": [{"type": "regex", "patterns": ["(a+)+$"]}]})", std::string(1'000'000, 'a') + "b"
    ));
}
