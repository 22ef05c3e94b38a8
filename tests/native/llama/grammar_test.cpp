// Refusal of grammars that a host wrote, within a time limit.
#include "grammar/grammar.hpp"

#include <chrono>
#include <doctest/doctest.h>
#include <llama-grammar.h>
#include <random>

using namespace sotto::llama;

namespace {

// Returns the error; empty: the grammar is accepted.
std::string refusal(const std::string& gbnf) {
    const auto start = std::chrono::steady_clock::now();
    std::string why;
    try {
        check_grammar(gbnf, "grammar");
    } catch (const Error& error) {
        CHECK(error.status() == SOTTO_ERROR_ARGUMENT);
        why = error.what();
    }
    CHECK(
        std::chrono::steady_clock::now() - start < std::chrono::seconds(2)
    ); // on a busy machine; otherwise 50 ms
    return why;
}

std::string times(const std::string& text, int count) {
    std::string all;
    for (int i = 0; i < count; ++i) {
        all += text;
    }
    return all;
}

bool too_ambiguous(const std::string& gbnf) {
    return refusal(gbnf).find("too ambiguous") != std::string::npos;
}

} // namespace

TEST_CASE("valid grammars are accepted") {
    for (const std::string gbnf : {
             R"(root ::= "yes" | "no")",
             R"(root ::= [a-z]{0,2000})",
             "root ::= item+\nitem ::= \"- \" [^\\n]+ \"\\n\"",
             "root ::= \"[\" root \"]\" | \"x\"",
             "root ::= \"{\" ws (\"a\" ws)? \"}\" ws # a comment\nws ::= [ \\t\\n]*",
             R"(root ::= <[5]> "a")",
         }) {
        CAPTURE(gbnf);
        CHECK(refusal(gbnf) == "");
    }
}

TEST_CASE("grammars with characters outside of Unicode or with empty classes are refused") {
    const auto refused = [](const std::string& characters, const std::string& why) {
        CAPTURE(characters);
        CHECK(refusal("root ::= \"a\" part\npart ::= " + characters).find(why) != std::string::npos);
    };
    refused(R"("\U00110000")", "a character beyond U+10FFFF in rule \"part\"");
    refused(R"([\U00000000-\UFFFFFFFF])", "a character beyond U+10FFFF");
    refused(R"([^\U00000000-\UFFFFFFFF])", "a character beyond U+10FFFF");
    refused(R"([a-z\U00110000])", "a character beyond U+10FFFF");
    refused(R"([^\x00-\U0010FFFF])", "a character class in rule \"part\" excludes every character");
    refused(R"([^k-\U0010FFFF\x00-j])", "excludes every character");
    refused("[b-a]", "a character range in rule \"part\" ends before it begins");
    CHECK(refusal(R"(root ::= [^\x00-\U0010FFFE])").empty());
    CHECK(refusal(R"(root ::= [\x00-\U0010FFFF] [^\x00-\x7F] "\U0010FFFF" [a-a])").empty());
}

TEST_CASE("syntax errors are reported with their line") {
    CHECK(
        refusal("root ::= a\na ::= \"x") ==
        "invalid grammar: the rule on line 2 does not parse: unexpected end of input"
    );
    CHECK(
        refusal("root ::= \"\\q\"") ==
        "invalid grammar: the rule on line 1 does not parse: unknown escape at \\q\""
    );
    CHECK(
        refusal("root ::= \"a\" )") ==
        "invalid grammar: the rule on line 1 does not parse: expecting newline or end at )"
    );
    CHECK(
        refusal("root = \"a\"") ==
        "invalid grammar: the rule on line 1 does not parse: expecting ::= at = \"a\""
    );
    CHECK(refusal("root ::= \"a\"{3,1}") == "invalid grammar, line 1: a repetition ends below its start");
    CHECK(refusal(std::string("root ::= \"\0\"", 12)) == "invalid grammar: expected text without NUL");
    CHECK(refusal("") == "invalid grammar: missing rule \"root\", with which an answer starts");
    CHECK(
        refusal("start ::= \"a\"") == "invalid grammar: missing rule \"root\", with which an answer starts"
    );
    CHECK(
        refusal("root ::= tail") ==
        "invalid grammar: undefined rule \"tail\"; define it, or remove the reference"
    );
    CHECK(refusal("root ::= <think> \"a\"").find("no vocab") != std::string::npos);
}

TEST_CASE("direct and hidden left recursion is refused") {
    CHECK(
        refusal("root ::= root \"a\" | \"b\"") ==
        "invalid grammar: left-recursive: rule \"root\" may begin with itself; write it as a repetition"
    );
    CHECK(refusal("root ::= a\na ::= b\nb ::= a | \"x\"").find("left-recursive") != std::string::npos);
    CHECK(too_ambiguous("root ::= a root \"x\" | \"y\"\na ::= b\nb ::= \"\"")); // not detected by llama.cpp
}

TEST_CASE("oversized grammars are refused before they are expanded") {
    CHECK(
        refusal(R"(root ::= "a"{1,1000000})") ==
        "invalid grammar, line 1: a repetition of more than 2000 times"
    );
    CHECK(
        refusal(R"(root ::= "a"{99999999999999999999999})") ==
        "invalid grammar, line 1: a repetition of more than 2000 times"
    );
    CHECK(refusal("root ::= " + times("[a-z]{0,2000} ", 8000)).find("too large") != std::string::npos);
    CHECK(
        refusal("root ::= \"" + times("abcdefghij", 1000) + "\"{1000}").find("too large") != std::string::npos
    );
    CHECK(
        refusal(times("n", 100'000) + " ::= [a]{0,2000}\nroot ::= \"a\"").find("too large") !=
        std::string::npos
    );
    CHECK(
        refusal("root ::= \"" + times("x", 600'000) + "\"") ==
        "invalid grammar of 600011 bytes: expected at most 524288"
    );
    CHECK(
        refusal("root ::= " + times("(", 100'000)) ==
        "invalid grammar, line 1: groups are nested deeper than 300 levels"
    );
    CHECK(refusal("root ::= \"" + times("x", 300'000) + "\"") == "");
}

TEST_CASE("ambiguous grammars are refused") {
    CHECK(too_ambiguous("root ::= " + times("\"a\"? ", 1000)));
    CHECK(too_ambiguous("root ::= \"x\" " + times("ws ", 8) + "\"y\"\nws ::= [ ]*"));
    CHECK(too_ambiguous("root ::= ([a-z]+ | [a-z0-9]+)*"));
    CHECK(too_ambiguous("root ::= ([a-z]+ \" \"?)+"));
    CHECK(too_ambiguous("root ::= (\"a\" | \"aa\")* \"b\""));
    std::string nullable = "root ::= r0\n";
    std::string first = "root ::= r0\n";
    for (int i = 0; i < 40; ++i) {
        const auto rule = "r" + std::to_string(i);
        const auto next = "r" + std::to_string(i + 1);
        nullable += rule + " ::= " + next + " " + next + "\n";
        first += rule + " ::= " + next + " | " + next + " \"x\"\n";
    }
    CHECK(too_ambiguous(nullable + "r40 ::= \"z\" | \"\"\n"));
    CHECK(
        refusal(first + "r40 ::= \"z\"\n").find("too many rules begin with each other") != std::string::npos
    );
    std::string choices = "root ::= \"w\"";
    for (int i = 0; i < 5000; ++i) {
        choices += " | \"" + std::to_string(i) + "\"";
    }
    CHECK(too_ambiguous(choices));
}

TEST_CASE("llama.cpp accepts every grammar that the check accepts") {
    const std::vector<std::string> parts = {"root", "a", "b",  "::=",  "\"x\"", "\"\"", "[a-z]", "[^\\n]",
                                            "(",    ")", "|",  "*",    "+",     "?",    "{2}",   "{0,3}",
                                            "{1,}", ".", "\n", "#c\n", "<[3]>", "\\"};
    std::mt19937 random(7);
    int taken = 0;
    for (int i = 0; i < 20'000; ++i) {
        std::string gbnf = "root ::= ";
        for (auto left = 1 + random() % 12; left > 0; --left) {
            gbnf += parts[random() % parts.size()] + (random() % 4 == 0 ? "" : " ");
        }
        gbnf += "\na ::= \"y\" b?\nb ::= [0-9] | a\n";
        if (refusal(gbnf).empty()) {
            CAPTURE(gbnf);
            ++taken;
            auto* grammar =
                llama_grammar_init_impl(nullptr, gbnf.c_str(), "root", false, nullptr, 0, nullptr, 0);
            REQUIRE(grammar != nullptr);
            CHECK(llama_grammar_get_stacks(grammar).size() <= 600);
            llama_grammar_free_impl(grammar);
        }
    }
    CHECK(taken > 1000);
}
