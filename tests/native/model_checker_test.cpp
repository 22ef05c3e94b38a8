// Checkers that need models: their requests, and what they make of the responses.
#include "core/check/model_checker.hpp"

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "core/check/sentences.hpp"
#include "guard/guard.hpp"
#include "text/json_reader.hpp"

using sotto::guard::Guard;
using sotto::guard::Stage;

namespace {

std::vector<std::string> passages(std::string_view text) {
    std::vector<std::string> found;
    for (const auto one : sotto::passages_of(text)) {
        found.emplace_back(one);
    }
    return found;
}

using Texts = std::vector<std::string>;

const Guard& guard() {
    static const Guard made(
        R"({"input": [
            {"type": "topics", "model": "e", "topics": {"war": ["a bomb", "a sword"], "ale": ["beer"]},
             "threshold": 0.9},
            {"type": "judge", "model": "j", "instruction": "No insults."}]})"
    );
    return made;
}

const sotto::guard::ModelRule& rule(std::size_t index) {
    return guard().model_rules(Stage::input)[index];
}

std::string embeddings(const std::vector<std::vector<double>>& vectors) {
    auto data = sotto::Json::array();
    for (const auto& vector : vectors) {
        data.push_back({{"embedding", vector}});
    }
    return sotto::to_text(sotto::Json{{"data", data}});
}

Texts inputs(const std::string& body) {
    return sotto::parse_json(body).at("input").get<Texts>();
}

std::string chat(const std::string& content) {
    const sotto::Json message = {{"content", content}};
    return sotto::to_text(sotto::Json{{"choices", {{{"message", message}}}}});
}

} // namespace

TEST_CASE("a text is split into sentences") {
    CHECK(passages("").empty());
    CHECK(passages(" \n\t ").empty());
    CHECK(passages(" One room. ") == Texts{"One room."});
    CHECK(passages("Version 1.5 of e.g.this") == Texts{"Version 1.5 of e.g.this"});
    CHECK(passages("Who?! You… yes.\nGo") == Texts{"Who?!", "You…", "yes.", "Go", "Who?! You… yes.\nGo"});
    CHECK(passages("你好。再见！") == Texts{"你好。", "再见！", "你好。再见！"});
    CHECK(passages("...") == Texts{"..."});
}

TEST_CASE("a long sentence is cut between words, or between characters") {
    const std::string words(300, 'a');
    CHECK(passages(words + " " + words) == Texts{words, words});
    std::string wide;
    for (int i = 0; i < 400; ++i) {
        wide += "é";
    }
    std::string joined;
    for (const auto& one : passages(wide)) {
        CHECK(one.size() <= sotto::kMaxPassage);
        CHECK(one.size() % 2 == 0);
        joined += one;
    }
    CHECK(joined == wide);
    CHECK(passages(std::string(512, 'a')).size() == 1);
    CHECK(passages(std::string(513, 'a')).size() == 2);
}

TEST_CASE("topics embed their examples once") {
    sotto::TopicVectorCache cache;
    for (int times = 0; times < 2; ++times) {
        const std::string text = "Draw your sword. Now!";
        const auto checker = sotto::checker_of(rule(0), text, cache, 1);
        CHECK(checker->op() == SOTTO_OP_EMBED);
        if (times == 0) {
            CHECK(inputs(checker->next_request()) == Texts{"beer", "a bomb", "a sword"});
            checker->take(embeddings({{0, 2}, {3, 0}, {1, 1}}));
        }
        CHECK(inputs(checker->next_request()) == Texts{"Draw your sword.", "Now!", text});
        checker->take(embeddings({{0.8, 1}, {-1, 0}, {1, -1}}));
        CHECK(checker->next_request().empty());
        REQUIRE(checker->objection());
        CHECK(checker->objection()->topic == "war");
        CHECK(*checker->objection()->score == doctest::Approx(0.9939).epsilon(0.001));
    }
    const std::string text = "x";
    CHECK(inputs(sotto::checker_of(rule(0), text, cache, 2)->next_request()).size() == 3); // another model
    const auto far = sotto::checker_of(rule(0), text, cache, 1);
    CHECK(inputs(far->next_request()) == Texts{"x"});
    far->take(embeddings({{-1, -1}}));
    CHECK(far->next_request().empty());
    CHECK_FALSE(far->objection());
}

TEST_CASE("an unusable response is refused") {
    sotto::TopicVectorCache cache;
    const std::string text = "x";
    for (const std::string response :
         {"",
          "[]",
          "{}",
          R"({"data": 1})",
          R"({"data": [1, 2, 3]})",
          R"({"data": [{"embedding": [1]}]})",
          R"({"data": [{"embedding": [0]}, {"embedding": [1]}, {"embedding": [1]}]})",
          R"({"data": [{"embedding": [1]}, {"embedding": [1, 2]}, {"embedding": [1]}]})",
          R"({"data": [{"embedding": [1]}, {"embedding": "x"}, {"embedding": [1]}]})",
          R"({"data": [{"embedding": [1e300]}, {"embedding": [1]}, {"embedding": [1]}]})"}) {
        const auto checker = sotto::checker_of(rule(0), text, cache, 1);
        CHECK_FALSE(checker->next_request().empty());
        CHECK_THROWS_AS(checker->take(response), sotto::Error);
    }
    for (const auto& response :
         {std::string(), std::string("[]"), std::string("{}"), chat("maybe"), chat("{}")}) {
        const auto judge = sotto::checker_of(rule(1), text, cache, 1);
        CHECK_FALSE(judge->next_request().empty());
        CHECK_THROWS_AS(judge->take(response), sotto::Error);
    }
}

TEST_CASE("a judge is asked once, for one of two words") {
    sotto::TopicVectorCache cache;
    const std::string text = "You swine";
    for (const bool blocks : {false, true}) {
        const auto judge = sotto::checker_of(rule(1), text, cache, 1);
        CHECK(judge->op() == SOTTO_OP_CHAT);
        const auto body = sotto::parse_json(judge->next_request());
        CHECK(body["model"] == "j");
        CHECK(body["messages"][1]["content"] == text);
        CHECK(body["temperature"] == 0);
        CHECK(body["messages"][0]["content"].get<std::string>().starts_with("No insults.\n\n"));
        judge->take(chat(blocks ? R"({"verdict": "block"})" : R"({"verdict": "allow"})"));
        CHECK(judge->next_request().empty());
        CHECK(judge->objection().has_value() == blocks);
    }
    const std::string nothing = " \n";
    CHECK(sotto::checker_of(rule(1), nothing, cache, 1)->next_request().empty());
}
