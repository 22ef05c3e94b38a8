// Guardrails find what JSON escapes hide, in whole texts and in streams.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "support/guarded.hpp"

using namespace sotto::guard;
using namespace test;

TEST_CASE("escapes of JSON hide nothing") {
    const auto config = phrases({"red wizard", "kill"});
    const std::vector<std::string> hidden{
        R"({"say": "\u0072ed wizard"})",
        R"({"say": "red\u0020wizard now"})",
        R"({"say": "red\nwizard"})",
        R"({"say": "red\/wizard"})",
        R"(\u006b\u0069\u006C\u006c)",
        R"(k\u00edll)",
        R"(\ud835\udd28ill)", // a letter outside of the BMP
        R"(\\\u006bill)",
        R"("\u006bill" is no JSON)",
        R"(\kill)",
        R"(\bred wizard)",
        R"(\red wizard)",
        R"(\u00zz kill)",
        R"(\ud800 kill)",
        R"(\ud800\u006bill)",
    };
    for (const auto& text : hidden) {
        CAPTURE(text);
        const Guard guard(config);
        REQUIRE(guard.check(Stage::output, text).action == Action::block);
        for (std::size_t step = 1; step < 14; ++step) {
            const auto streamed = stream(config, text, step);
            CHECK(streamed.blocked);
            CHECK(text.compare(0, streamed.text.size(), streamed.text) == 0);
            CHECK(guard.check(Stage::output, streamed.text).action == Action::allow);
            CHECK(streamed.text.find("006") == std::string::npos); // no part of an escape of the phrase
        }
    }
    for (const std::string text : {
             R"({"say": "caf\u00e9 and \"s\u006bill\" \\ C:\new\u"})",
             R"(\ud835)",
             R"(\ud835\u)",
             R"(\)",
             R"(\u00)",
             R"(\\u006bill)", // an escaped backslash, and "u006bill"
             R"(ends with \ud835\udd2)",
         }) {
        CAPTURE(text);
        for (std::size_t step = 1; step < 14; ++step) {
            const auto streamed = stream(config, text, step);
            CHECK_FALSE(streamed.blocked);
            CHECK(streamed.text == text);
        }
    }
    CHECK(stream(config, R"(a path C:\dir\other and "\u00e9t\u00e9" go on)", 1).most_held <= 12);
}

TEST_CASE("what is rewritten contains whole escapes") {
    const auto config = phrases({"red"}, {{"action", "rewrite"}, {"replacement", "blue"}});
    const auto digits =
        R"({"output": [{"type": "regex", "patterns": ["[0-9]{3,}"], "action": "rewrite", "replacement": "#"}]})";
    for (std::size_t step = 1; step < 14; ++step) {
        CHECK(stream(config, R"({"a": "\u0072\u0065d \u0072ed"})", step).text == R"({"a": "blue blue"})");
        CHECK(
            stream(digits, R"("caf\u00e9 \u00311\u0031 1234 \u0031")", step).text ==
            R"("caf\u00e9 # # \u0031")"
        );
    }
    CHECK(Guard(config).check(Stage::output, R"(\u0072e\u0064)").rewritten == "blue");
    const std::string many = R"(say \u006eothing )";
    std::string text;
    for (int i = 0; i < 20'000; ++i) {
        text += many;
    }
    CHECK(stream(config, text, 64).text == text);
    CHECK(Guard(config).check(Stage::output, text).action == Action::allow);
    CHECK(Guard(config).check(Stage::output, std::string(1 << 20, '\\')).action == Action::allow);
}

TEST_CASE("a long run of backslashes is read the same way in pieces") {
    const auto config = phrases({"red"}, {{"action", "rewrite"}, {"mask", "#"}});
    for (const std::size_t count : {199, 200, 201, 5000}) {
        const auto text = std::string(150, 'x') + " " + std::string(count, '\\') + "u0072ed and red";
        const auto verdict = Guard(config).check(Stage::output, text);
        for (const std::size_t step : {1, 3, 100}) {
            CHECK(stream(config, text, step).text == verdict.rewritten);
        }
    }
}
