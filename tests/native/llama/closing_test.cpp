// JSON answers are completed before their token limit.
#include "token/closing.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <string>
#include <vector>

using namespace sotto::llama;

namespace {

// A vocabulary of single characters, some longer tokens and an end token. Tests set by hand what a grammar
// would allow.
const std::vector<std::string> kTokens = {"\"", "}", "]", ":", "0", "\"}", "}]", "a", ",", " \"", "00", ""};
constexpr std::int32_t kEnd = 11;

ClosingTokens closing_tokens() {
    const auto spell = [](std::int32_t token, std::string& bytes) {
        bytes = kTokens[static_cast<std::size_t>(token)];
    };
    const std::vector<std::int32_t> ends = {kEnd};
    return {static_cast<std::int32_t>(kTokens.size()), spell, ends};
}

// Returns the preferred tokens after `said`, with `left` tokens remaining.
std::vector<std::string>
preferred(const std::string& said, std::uint64_t left, const std::vector<std::string>& lead_in_end = {}) {
    const auto tokens = closing_tokens();
    JsonFrame frame;
    frame.lead_in_end = lead_in_end;
    Closing closing(tokens, left + said.size(), frame);
    for (const char letter : said) {
        closing.said({&letter, 1});
    }
    std::vector<float> logits(kTokens.size(), 1.0f);
    closing.press(logits.data());
    std::vector<std::string> found;
    for (std::size_t token = 0; token < kTokens.size(); ++token) {
        if (logits[token] > 1000.0f) {
            found.push_back(kTokens[token]);
        }
    }
    return found;
}

} // namespace

TEST_CASE("tokens that complete JSON are preferred once only enough tokens for that are left") {
    CHECK(preferred("{\"key", 100).empty());
    CHECK(preferred("{\"key", 22).empty());
    CHECK(preferred("{\"key", 21).size() == 7);
    CHECK(preferred("{\"a\":[[[", 25).empty());
    CHECK(preferred("{\"a\":[[[", 24).size() == 7); // each open bracket needs a token
    CHECK(preferred("{\"a\":[[[]]", 23).empty());
    CHECK(preferred("{\"[[[[[[[[\\\"[[[[[", 22).empty()); // brackets in a string do not count
    CHECK(preferred("  {", 0).size() == 7);
    CHECK(preferred("", 0).empty());
}

TEST_CASE("text before the JSON is not changed") {
    CHECK(preferred("<think>{\"", 5, {"</think>"}).empty());
    CHECK(preferred("<think>{</think>\n", 5, {"</think>"}).size() == 7);
    CHECK(preferred("well {", 5).empty());
    CHECK(preferred("```json\n{\"a", 5).size() == 7); // in a Markdown fence
    CHECK(preferred("```js", 5).empty());
}

TEST_CASE("order of preference: quotation mark, bracket, colon, zero") {
    const auto tokens = closing_tokens();
    std::vector<float> logits(kTokens.size(), 0.0f);
    logits[7] = 1000.0f; // a high logit of another token
    tokens.prefer(logits.data());
    const auto logit = [&](const char* text) {
        return logits[static_cast<std::size_t>(
            std::find(kTokens.begin(), kTokens.end(), text) - kTokens.begin()
        )];
    };
    CHECK(logit("\"") > 100 * logit("}"));
    CHECK(logit("}") == logit("}]"));
    CHECK(logit("}") > 100 * logit(":"));
    CHECK(logit(":") > 100 * logit("0"));
    CHECK(logit("0") > logit("a"));
    CHECK(logit("\"}") == 0.0f); // where a value begins, the token would be a part of it
    CHECK(logit("00") == 0.0f);
    CHECK(logit(" \"") == 0.0f);
    CHECK(logits[kEnd] == logit("\""));
}
