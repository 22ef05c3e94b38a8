// Stored responses: their limits, and what they share.
#include <string>

#include <doctest/doctest.h>

#include "base/error.hpp"
#include "core/session/responses.hpp"

using namespace sotto;

namespace {

// Starts and completes a response. Returns its id.
std::string respond(Responses& responses, const std::string& said, const std::string& previous = "") {
    auto parsed = read_respond(
        R"({"model": "npc", "input": ")" + said + '"' +
        (previous.empty() ? "" : R"(, "previous_response_id": ")" + previous + '"') + "}"
    );
    PageString body;
    auto turn = responses.begin(1, parsed, body);
    CompleteAnswer complete;
    complete.text = "well, " + said;
    complete.finish = SOTTO_FINISH_STOP;
    turn.remember(complete);
    return parsed.respond->id;
}

std::size_t messages_in(const Responses& responses, const std::string& id) {
    return responses.find(id)->talk.messages.size();
}

} // namespace

TEST_CASE("responses that go on from each other share their messages") {
    Responses responses;
    const auto first = respond(responses, "one");
    const auto alone = responses.bytes();
    const auto second = respond(responses, "two", first);
    const auto fork = respond(responses, "six", first);
    CHECK(messages_in(responses, first) == 2);
    CHECK(messages_in(responses, second) == 4);
    CHECK(responses.find(second)->talk.messages[0] == responses.find(fork)->talk.messages[0]);
    CHECK(responses.bytes() == 3 * alone + 4 * sizeof(Message)); // texts of equal length
    responses.remove(first);
    CHECK(responses.bytes() == 3 * alone + 2 * sizeof(Message)); // its messages are still needed
    responses.remove(fork);
    CHECK(responses.bytes() == 2 * alone);
    responses.remove(second);
    responses.remove(second);
    CHECK(responses.bytes() == 0);
    CHECK(responses.count() == 0);
}

TEST_CASE("the least recently used responses are dropped above the limits") {
    Responses few(3);
    const auto first = respond(few, "one");
    const auto second = respond(few, "two");
    respond(few, "six", first); // uses the first
    respond(few, "ten");
    CHECK(few.count() == 3);
    CHECK(few.find(first) != nullptr);
    CHECK(few.find(second) == nullptr);
    CHECK_THROWS_WITH_AS(
        respond(few, "again", second), doctest::Contains("': expected the id of a stored response"), Error
    );
    Responses small(100, 1000);
    const auto large = respond(small, std::string(2000, 'x'));
    CHECK(small.find(large) == nullptr); // alone above the limit
    CHECK(small.bytes() == 0);
    for (int i = 0; i < 50; ++i) {
        respond(small, "one more");
        CHECK(small.bytes() <= 1000);
    }
    CHECK(small.count() > 1);
}

TEST_CASE("a response whose answer is not delivered is not stored") {
    Responses responses;
    auto parsed = read_respond(R"({"model": "npc", "input": "hi"})");
    PageString body;
    {
        auto turn = responses.begin(1, parsed, body);
        turn.remember({});
        CHECK(responses.count() == 1);
        turn.forget();
    }
    CHECK(responses.count() == 0);
    parsed = read_respond(R"({"model": "npc", "input": "hi"})");
    {
        const auto turn = responses.begin(1, parsed, body);
    }
    CHECK(responses.count() == 0);
}

TEST_CASE("instructions precede the conversation, or begin its system message") {
    Responses responses;
    const auto body_of = [&](const std::string& request) {
        auto parsed = read_respond(request);
        PageString body;
        responses.begin(1, parsed, body);
        return std::string(body.begin(), body.end());
    };
    CHECK(
        body_of(R"({"model": "m", "input": "hi", "instructions": "Be short.", "temperature": 0.5})") ==
        R"({"messages":[{"role":"system","content":"Be short."},{"role":"user","content":"hi"}],)"
        R"("model":"m","temperature":0.5})"
    );
    CHECK(
        body_of(R"({"model": "m", "instructions": "Be short.",
                    "input": [{"role": "system", "content": "Guard."}]})") ==
        R"({"messages":[{"role":"system","content":"Be short.\n\nGuard."}],"model":"m"})"
    );
}
