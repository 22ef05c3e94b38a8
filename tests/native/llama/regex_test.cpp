// Grammars of regular expressions, compared with std::regex.
#include "grammar/regex.hpp"

#include <doctest/doctest.h>
#include <regex>
#include <string>
#include <vector>

#include "grammar/automaton.hpp"
#include "grammar/grammar.hpp"
#include "runtime/guard.hpp"

using namespace sotto::llama;

namespace {

bool matches(Automaton& automaton, const std::string& ascii) {
    auto state = automaton.start();
    for (const auto character : ascii) {
        state = automaton.next(state, static_cast<char32_t>(character));
    }
    return automaton.is_end(state);
}

// All texts of up to four of these characters.
std::vector<std::string> texts() {
    std::vector<std::string> all = {""};
    std::size_t first = 0;
    for (int length = 1; length <= 4; ++length) {
        const auto end = all.size();
        for (; first < end; ++first) {
            for (const char character : {'a', 'b', '1', '.', '$', '\n'}) {
                all.push_back(all[first] + character);
            }
        }
    }
    return all;
}

std::string refusal(const std::string& regex) {
    try {
        regex_grammar(regex, "grammar");
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("a grammar accepts what its regular expression matches as a whole") {
    const auto all = texts();
    for (const std::string regex : {
             "a",       "a|b",      "^a|b$",    "^ab",    "ab$",          "^a1?$", "a*b+",      "(ab|1)*",
             "[^a]{2}", "a{0}b",    "(?:a|)1",  "\\$",    "\\$$",         "a\\.",  ".",         "..?",
             "\\d+",    "\\w{1,3}", "[ab]{2,}", "a+?b*?", "(a(b(1)?)?)?", "^$",    "[a-b1]\\.",
         }) {
        CAPTURE(regex);
        const auto gbnf = regex_grammar(regex, "grammar");
        check_grammar(gbnf, "grammar");
        Automaton automaton(gbnf);
        REQUIRE(automaton.is_usable());
        const bool free_ends = regex == "^a|b$"; // each branch has one anchor, and any text at its other end
        const std::regex reference(free_ends ? "a.*|.*b" : regex);
        for (const auto& text : all) {
            CAPTURE(text);
            CHECK(matches(automaton, text) == std::regex_match(text, reference));
        }
    }
}

TEST_CASE("control characters are no part of an answer") {
    Automaton automaton(regex_grammar("[^a]", "grammar"));
    CHECK(matches(automaton, "b"));
    CHECK(matches(automaton, "\n"));
    CHECK_FALSE(matches(automaton, "\x01"));
    CHECK(refusal("[\\x00-\\x01]").find("at least one character that a text can hold") != std::string::npos);
}

TEST_CASE("regular expressions that no grammar enforces are refused") {
    for (const auto& [regex, why] : {
             std::pair{"(a", "an unclosed \"(\""},
             {"a)", "an unopened \")\""},
             {"[a", "an unclosed \"[\""},
             {"*a", "nothing to repeat"},
             {"a{2,1}", "a repetition whose end is below its start"},
             {"(?=a)b", "\"(?\""},
             {"(a)\\1", "\"\\1\""},
             {"a\\bb", "\"\\b\""},
             {"a^b", "an anchor inside"},
             {"a\\", "\"\\\" at its end"},
         }) {
        CAPTURE(regex);
        const auto told = refusal(regex);
        CAPTURE(told);
        CHECK(told.find("invalid grammar") == 0);
        CHECK(told.find(why) != std::string::npos);
    }
}
