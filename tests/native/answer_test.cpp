// The parts of an answer: its text, its tool calls, its reports about its tokens.
#include <doctest/doctest.h>

#include "core/request/answer_text.hpp"
#include "core/request/call_builder.hpp"
#include "core/request/held_tokens.hpp"

using namespace sotto;

namespace {

struct Calls {
    void add(const char* call) { builder.add(Json::parse(call), increment, whole); }

    CallBuilder builder;
    AnswerIncrement increment;
    std::vector<Call> whole;
};

} // namespace

TEST_CASE("text is shown in whole characters, up to a stop sequence") {
    AnswerText text({"END"});
    std::string shown;
    CHECK_FALSE(text.feed("a\xC3", shown));
    CHECK(shown == "a");
    CHECK_FALSE(text.feed("\xA4 E", shown));
    CHECK(shown == "a\xC3\xA4 ");
    CHECK(text.feed("ND more", shown));
    CHECK(shown == "a\xC3\xA4 ");
    CHECK(text.stopped());
    CHECK(text.stop_sequence() == "END");
    CHECK(text.finish().empty());
}

TEST_CASE("text that was held back is shown at the end") {
    AnswerText text({});
    text.add_stop("END");
    std::string shown;
    CHECK_FALSE(text.feed("the EN", shown));
    CHECK(shown == "the ");
    CHECK(text.finish() == "EN");
    CHECK_FALSE(text.stopped());
    CHECK(text.stop_sequence().empty());
}

TEST_CASE("reports are held back until their token is shown") {
    using Reports = std::vector<TokenReport>;
    HeldTokens tokens(true);
    tokens.add(2, 7, "1");
    tokens.add(3, 8, "");
    tokens.add(3, -1, "2");
    tokens.add(1, 9, "3");
    CHECK(tokens.release(0).empty());
    CHECK(tokens.release(5) == Reports{{7, "1"}, {8, ""}});
    CHECK(tokens.release(6, true).empty());
    CHECK(tokens.release(SIZE_MAX) == Reports{{-1, "2"}, {9, "3"}});
    HeldTokens none(false);
    none.add(2, 7, "1");
    CHECK(none.release(SIZE_MAX).empty());
}

TEST_CASE("a tool call is whole once the next one begins") {
    Calls calls;
    calls.add(R"({"index": 0, "id": "a", "function": {"name": "wave", "arguments": "{\"at\":"}})");
    calls.add(R"({"index": 0, "function": {"arguments": " 1}"}})");
    CHECK(calls.whole.empty());
    calls.add(R"({"index": 1, "id": "b", "function": {"name": "bow", "arguments": ""}})");
    REQUIRE(calls.whole.size() == 1);
    CHECK(calls.whole[0].name == "wave");
    CHECK(calls.whole[0].arguments == "{\"at\": 1}");
    calls.add(R"({"index": 0, "function": {"arguments": "late"}})"); // that one has ended
    CHECK(calls.increment.deltas.size() == 3);
    calls.builder.close(calls.increment, calls.whole);
    REQUIRE(calls.whole.size() == 2);
    CHECK(calls.whole[1].arguments == "{}");
    CHECK(calls.increment.deltas.back().text == "{}");
    CHECK(calls.increment.deltas.back().call == 1);
    CHECK(calls.increment.calls.size() == 2);
}

TEST_CASE("a tool call whose arguments broke off is left out") {
    Calls calls;
    calls.add(R"({"index": 0, "id": "a", "function": {"name": "wave", "arguments": "{\"at\":"}})");
    calls.builder.close(calls.increment, calls.whole);
    CHECK(calls.whole.empty());
    CHECK(calls.increment.deltas.size() == 1);
}
