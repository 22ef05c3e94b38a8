// Automata of grammars.
#include "grammar/automaton.hpp"

#include <algorithm>
#include <doctest/doctest.h>
#include <stdexcept>
#include <string_view>

using namespace sotto::llama;

namespace {

Automaton::State after(Automaton& automaton, std::u32string_view text) {
    auto state = automaton.start();
    for (const auto character : text) {
        state = automaton.next(state, character);
    }
    return state;
}

} // namespace

TEST_CASE("an automaton accepts what its grammar accepts") {
    Automaton automaton("root ::= \"a\" [b-d]* \"é\" | \"夜\"+");
    CHECK(automaton.is_usable());
    CHECK_FALSE(automaton.is_end(automaton.start()));
    CHECK(automaton.is_end(after(automaton, U"abcdé")));
    CHECK(automaton.is_end(after(automaton, U"夜夜")));
    CHECK_FALSE(automaton.is_end(after(automaton, U"ab")));
    CHECK(after(automaton, U"ae") == Automaton::kDead);
    CHECK(after(automaton, U"aéb") == Automaton::kDead);
    CHECK(after(automaton, U"x夜") == Automaton::kDead);
}

TEST_CASE("texts with the same continuations share a state") {
    Automaton automaton(R"(root ::= "\"" [^"]* "\"")");
    CHECK(after(automaton, U"\"a") == after(automaton, U"\"bcd"));
}

TEST_CASE("a range of characters is accepted if one of them is") {
    Automaton automaton("root ::= [c-f] \"x\" | [^a-z]");
    CHECK(automaton.accepts_any(automaton.start(), U'a', U'c'));
    CHECK(automaton.accepts_any(automaton.start(), U'\u0080', U'\u07FF'));
    CHECK_FALSE(automaton.accepts_any(automaton.start(), U'g', U'z'));
    CHECK_FALSE(automaton.accepts_any(automaton.start(), U'a', U'b'));
}

TEST_CASE("grammars that name tokens are unusable, and ill-formed ones are rejected") {
    CHECK_FALSE(Automaton(R"(root ::= <[5]> "a")").is_usable());
    CHECK_THROWS_AS(Automaton("start ::= \"a\""), std::runtime_error);
}

TEST_CASE("an automaton that grows too large drops its other states") {
    Automaton automaton("root ::= [a-z]{0,2000} \"!\"", nullptr, 1000);
    auto state = automaton.start();
    CHECK(automaton.shrink(state) == state); // small enough
    Automaton::State largest = 0;
    for (int i = 0; i < 1500; ++i) {
        state = automaton.shrink(automaton.next(state, U'a'));
        largest = std::max(largest, state);
    }
    CHECK(largest < 1500);
    CHECK(automaton.is_end(automaton.next(state, U'!')));
    CHECK(automaton.next(automaton.next(state, U'a'), U'x') != Automaton::kDead);
}
