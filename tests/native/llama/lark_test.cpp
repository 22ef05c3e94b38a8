// Grammars in Lark's syntax.
#include "grammar/lark.hpp"

#include <doctest/doctest.h>
#include <string>
#include <utility>
#include <vector>

#include "grammar/automaton.hpp"
#include "grammar/grammar.hpp"
#include "runtime/guard.hpp"

using namespace sotto::llama;

namespace {

struct Case {
    std::string lark;
    std::vector<std::string> right;
    std::vector<std::string> wrong;
};

bool matches(Automaton& automaton, const std::u32string& text) {
    auto state = automaton.start();
    for (const auto character : text) {
        state = automaton.next(state, character);
    }
    return automaton.is_end(state);
}

std::u32string wide(const std::string& ascii) {
    return {ascii.begin(), ascii.end()};
}

std::string gbnf_of(const std::string& lark) {
    const auto gbnf = lark_grammar(lark, "grammar");
    CAPTURE(gbnf);
    check_grammar(gbnf, "grammar");
    return gbnf;
}

std::string refusal(const std::string& lark) {
    try {
        check_grammar(lark_grammar(lark, "grammar"), "grammar");
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

} // namespace

TEST_CASE("a grammar in Lark's syntax accepts the texts of its rule start") {
    const Case cases[] = {
        {R"(start: "yes" | "no")", {"yes", "no"}, {"", "ye", "yesno", "YES"}},
        {"start: greeting \",\" NAME\ngreeting: \"hi\"i\nNAME: /[A-Z][a-z]*/",
         {"hi,Mara", "HI,B", "hI,Bo"},
         {"hi,mara", "hi Mara", "ho,Mara"}},
        {"start: \"a\" // first\n  | \"b\" -> second\n\n  # a comment\n  | \"c\"\n",
         {"a", "b", "c"},
         {"", "ab", "d"}},
        {R"(start: ("a" "b")? ["c"] "d"* "e"+)", {"e", "abe", "ce", "abcddee"}, {"", "ac", "ae", "d", "ab"}},
        {R"(start: "a"~2 "b" ~ 1..3)", {"aab", "aabbb"}, {"ab", "aaab", "aa", "aabbbb"}},
        {R"(start: "a".."c" | "0".."1" "x")", {"a", "b", "c", "0x", "1x"}, {"d", "0", "2x"}},
        {"start: _two\n_two: TWO_\nTWO_: \"\\x41\\u0042\\n\\\"\\\\\"", {"AB\n\"\\"}, {"AB"}},
        {"start: root\nroot: | \"x\" root", {"", "x", "xxx"}, {"y"}},
        {"?start.5: a\n!a.-1: A\nA.2: /a\\/[\\/b]/", {"a//", "a/b"}, {"ab", "a/"}},
    };
    for (const auto& [lark, right, wrong] : cases) {
        CAPTURE(lark);
        Automaton automaton(gbnf_of(lark));
        REQUIRE(automaton.is_usable());
        for (const auto& text : right) {
            CAPTURE(text);
            CHECK(matches(automaton, wide(text)));
        }
        for (const auto& text : wrong) {
            CAPTURE(text);
            CHECK_FALSE(matches(automaton, wide(text)));
        }
    }
}

TEST_CASE("characters beyond ASCII stand for themselves") {
    Automaton automaton(gbnf_of("start: \"é\" | \"α\"..\"γ\" | \"\\u00df\""));
    for (const auto* text : {U"é", U"α", U"β", U"γ", U"ß"}) {
        CHECK(matches(automaton, text));
    }
    CHECK_FALSE(matches(automaton, U"δ"));
}

TEST_CASE("ignored terminals may stand before the text and after each token, not inside a token") {
    Automaton automaton(gbnf_of(
        "%import common.WS\n%import common (INT, CNAME)\n%ignore WS\n"
        "start: CNAME \"=\" INT (\",\" INT)*"
    ));
    for (const auto* text : {"a=1", " a = 1 , 22 \n", "x_1\t=\r\n3"}) {
        CHECK(matches(automaton, wide(text)));
    }
    for (const auto* text : {"a=1 2", "a b=1", "a=", "a=1;"}) {
        CHECK_FALSE(matches(automaton, wide(text)));
    }
}

TEST_CASE("terminals of the library common match what those of Lark do") {
    const Case cases[] = {
        {"INT", {"0", "042"}, {"", "-1", "1.5"}},
        {"SIGNED_INT", {"+1", "-20", "3"}, {"+-1", "1."}},
        {"DECIMAL", {"1.", "1.5", ".5"}, {"1", ".", "1e5"}},
        {"FLOAT", {"1e5", "1.5", ".5E-3", "1."}, {"1", "e5"}},
        {"NUMBER", {"1", "1.5", ".5", "1e+5", "1.e5"}, {"", ".", "-1"}},
        {"SIGNED_NUMBER", {"-1.5e3", "+.5", "7"}, {"--1"}},
        {"ESCAPED_STRING", {R"("")", R"("a b")", R"("a\"b")", R"("\\")"}, {R"("a"b")", R"("\")", "\"a\nb\""}},
        {"WORD", {"abc", "Z"}, {"", "a1"}},
        {"CNAME", {"_a1", "B"}, {"1a", ""}},
        {"WS", {" \n\t"}, {"", "x"}},
        {"NEWLINE", {"\n", "\r\n\n"}, {"\r", ""}},
        {"HEXDIGIT", {"f", "0", "A"}, {"g", "ff"}},
    };
    for (const auto& [name, right, wrong] : cases) {
        CAPTURE(name);
        Automaton automaton(gbnf_of("%import common." + name + " -> IT\nstart: IT"));
        for (const auto& text : right) {
            CAPTURE(text);
            CHECK(matches(automaton, wide(text)));
        }
        for (const auto& text : wrong) {
            CAPTURE(text);
            CHECK_FALSE(matches(automaton, wide(text)));
        }
    }
}

TEST_CASE("errors name the line, the column and the construct") {
    for (const auto& [lark, why] : {
             std::pair<std::string, std::string>{"", "line 1, column 1: missing rule 'start'"},
             {"a: \"x\"", "missing rule 'start'"},
             {"start: b", "line 1, column 8: undefined rule 'b'"},
             {"start: \"é\" B", "line 1, column 12: undefined terminal 'B'"},
             {"start: \"a", "line 1, column 8: the string does not end"},
             {"start: \"\\q\"", "line 1, column 9: unknown escape"},
             {"start: \"\\x00\"", "line 1, column 8: a control character"},
             {"start: \"a\"s", "line 1, column 11: unknown flag"},
             {"start: \"é\"i", "line 1, column 8: flag i on characters beyond ASCII"},
             {"start: /a", "line 1, column 8: the regular expression does not end"},
             {"start: /a/i", "line 1, column 11: flag 'i' of a regular expression"},
             {"start: A\nA: /(?=a)b/", "line 2, column 4: invalid expression"},
             {"start: (\"a\"", "expected ')', not the end of the line"},
             {"start: \"a\")", "line 1, column 11: expected the end of the line, not ')'"},
             {"start: \"a\"\n%declare X", "line 2, column 1: unsupported directive '%declare X'"},
             {"%import python.NAME", "line 1, column 9: unsupported library 'python.NAME'"},
             {"%import common.CPP", "line 1, column 16: unknown terminal common.CPP; known are DIGIT"},
             {"start: list{\"a\"}", "line 1, column 8: templates are not supported"},
             {"list{x}: x", "line 1, column 5: templates are not supported"},
             {"start: A\nA: b\nb: \"x\"", "line 2, column 4: a terminal refers to the rule 'b'"},
             {"start: \"a\"\nstart: \"b\"", "line 2, column 1: 'start' is defined twice"},
             {"start \"a\"", "line 1, column 7: expected ':'"},
             {"start: \"a\"~3..2", "line 1, column 12: the repetition ends before it begins"},
             {"start: \"a\"~x", "line 1, column 12: expected a number"},
             {"start: \"ab\"..\"c\"", "line 1, column 8: a range needs one character"},
             {"start: ?", "line 1, column 8: expected a name, not '?'"},
             {"start: " + std::string(200, '('), "nested more than 100 deep"},
             {"start: start \"a\" | \"b\"", "left-recursive: rule \"start\""},
             {"start: \"a\"~2001", "line 1, column 12: a repetition of more than 2000 times"},
             {"start: \"z\"..\"a\"", "ends before it begins"},
         }) {
        CAPTURE(lark);
        const auto told = refusal(lark);
        CAPTURE(told);
        CHECK(told.starts_with("invalid grammar: "));
        CHECK(told.find(why) != std::string::npos);
    }
}
