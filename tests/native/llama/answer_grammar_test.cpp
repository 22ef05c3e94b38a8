// Grammars of answers.
#include "token/answer_grammar.hpp"

#include "grammar/schema/schema.hpp"

#include <algorithm>
#include <cmath>
#include <doctest/doctest.h>
#include <memory>
#include <random>

using namespace sotto::llama;

namespace {

// A vocabulary: each byte, some longer tokens, one without text, and the end token.
class Tokens {
public:
    Tokens() {
        for (int byte = 0; byte < 256; ++byte) {
            spelled_.emplace_back(1, static_cast<char>(byte));
        }
        for (const char* text :
             {"{\"",
              "\":",
              "\",\"",
              "\"}",
              "}]",
              "ab",
              "abc",
              "é",
              "\xC3\xA9\xC3",
              "夜",
              "\xE5\xA4",
              "a\xF0\x9F",
              "true",
              "12",
              "null",
              "null,",
              " ",
              "\",",
              "</s>"}) {
            spelled_.emplace_back(text);
        }
        end_ = size() - 1;
        texts_ = std::make_unique<TokenTexts>(size(), text_of());
    }

    std::int32_t size() const { return static_cast<std::int32_t>(spelled_.size()); }
    std::int32_t end() const { return end_; }
    const std::string& text(std::int32_t token) const { return spelled_[static_cast<std::size_t>(token)]; }
    TokenTexts::TextOf text_of() const {
        return [this](std::int32_t token) { return text(token); };
    }
    AnswerGrammar grammar(const std::string& gbnf) const {
        return {gbnf, {nullptr, *texts_, {&end_, 1}, text_of()}};
    }
    std::vector<std::int32_t> allowed(AnswerGrammar& grammar) const {
        std::vector<float> logits(spelled_.size(), 0.0f);
        grammar.mask(logits.data());
        std::vector<std::int32_t> found;
        for (std::int32_t token = 0; token < size(); ++token) {
            if (!std::isinf(logits[static_cast<std::size_t>(token)])) {
                found.push_back(token);
            }
        }
        return found;
    }

private:
    std::vector<std::string> spelled_;
    std::int32_t end_;
    std::unique_ptr<TokenTexts> texts_;
};

// Returns the tokens that llama.cpp's grammar accepts, each checked alone.
std::vector<std::int32_t> allowed_by_llama(llama_grammar& grammar, const Tokens& tokens) {
    const auto stacks = llama_grammar_get_stacks(&grammar);
    const auto partial = grammar.partial_utf8;
    std::vector<std::int32_t> found;
    for (std::int32_t token = 0; token < tokens.size(); ++token) {
        const bool whole = partial.n_remain == 0;
        if (token == tokens.end()) {
            const auto is_end = [](const auto& stack) { return stack.empty(); };
            if (whole && std::any_of(stacks.begin(), stacks.end(), is_end)) {
                found.push_back(token);
            }
            continue;
        }
        try {
            llama_grammar_accept_str(grammar, tokens.text(token));
            found.push_back(token);
        } catch (const std::exception&) {
        }
        llama_grammar_get_stacks(&grammar) = stacks;
        grammar.partial_utf8 = partial;
    }
    return found;
}

} // namespace

TEST_CASE("mask() leaves the tokens that the grammar accepts") {
    const Tokens tokens;
    auto grammar = tokens.grammar(R"(root ::= "ab" "c"? | "é")");
    const auto names = [&] {
        std::vector<std::string> found;
        for (const auto token : tokens.allowed(grammar)) {
            found.push_back(tokens.text(token));
        }
        return found;
    };
    CHECK(names() == std::vector<std::string>{"a", "\xC3", "ab", "abc", "é"});
    REQUIRE(grammar.accept("ab"));
    CHECK(names() == std::vector<std::string>{"c", "</s>"});
    CHECK(grammar.allows_end());
    CHECK_FALSE(grammar.accept("d"));
    CHECK(grammar.accept("c")); // what was not allowed has changed nothing
}

TEST_CASE("inside a character, only continuation bytes are accepted") {
    const Tokens tokens;
    auto grammar = tokens.grammar("root ::= [é夜] \"!\"");
    REQUIRE(grammar.accept("\xE5"));
    CHECK_FALSE(grammar.allows_end());
    CHECK(tokens.allowed(grammar) == std::vector<std::int32_t>{0xA4});
    REQUIRE(grammar.accept("\xA4"));
    REQUIRE(grammar.accept("\x9C"));
    CHECK(tokens.allowed(grammar) == std::vector<std::int32_t>{'!'});
}

TEST_CASE("a token without text is rejected") {
    const Tokens tokens;
    auto grammar = tokens.grammar("root ::= [^x]*");
    CHECK_FALSE(grammar.allows(""));
}

TEST_CASE("masks equal those of llama.cpp's grammar") {
    const Tokens tokens;
    std::mt19937 random(11);
    for (const char* schema : {
             R"({"type": "array", "items": {"type": "object", "properties": {"a": {"type": "string"},
                 "b": {"enum": [true, null, "abc"]}}, "required": ["a"]}})",
             R"({"type": "string", "maxLength": 6})",
             R"({"type": ["integer", "null"], "minimum": -20, "maximum": 120})",
             R"({"type": "object", "additionalProperties": {"type": "number"}})",
         }) {
        const auto gbnf = held_schema(Json::parse(schema), "s").grammar;
        auto* theirs = llama_grammar_init_impl(nullptr, gbnf.c_str(), "root", false, nullptr, 0, nullptr, 0);
        REQUIRE(theirs != nullptr);
        auto ours = tokens.grammar(gbnf);
        for (int step = 0; step < 60; ++step) {
            CAPTURE(schema);
            CAPTURE(step);
            const bool whole = theirs->partial_utf8.n_remain == 0;
            const auto allowed = tokens.allowed(ours);
            auto expected = allowed_by_llama(*theirs, tokens);
            if (whole) {
                // llama.cpp's walk takes a begun character whatever it may become, and NUL for no character.
                std::erase_if(expected, [&](std::int32_t token) {
                    return tokens.text(token).empty() ||
                           static_cast<unsigned char>(tokens.text(token)[0]) == 0;
                });
                for (const auto token : allowed) {
                    CHECK(std::find(expected.begin(), expected.end(), token) != expected.end());
                }
                for (const auto token : expected) {
                    PartialCharacter partial;
                    std::u32string text;
                    if (read_utf8(tokens.text(token), partial, text) && partial.missing == 0) {
                        CHECK(std::find(allowed.begin(), allowed.end(), token) != allowed.end());
                    }
                }
            }
            REQUIRE_FALSE(allowed.empty());
            const auto token = allowed[random() % allowed.size()];
            if (token == tokens.end()) {
                break;
            }
            REQUIRE(ours.accept(tokens.text(token)));
            llama_grammar_accept_str(*theirs, tokens.text(token));
        }
        llama_grammar_free_impl(theirs);
    }
}
