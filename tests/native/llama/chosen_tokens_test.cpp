// Tokens that were chosen and not delivered yet: without a model.
#include "step/chosen_tokens.hpp"

#include <doctest/doctest.h>

using namespace sotto::llama;

TEST_CASE("tokens are delivered in order, one at a time, and the last one ends the answer") {
    ChosenTokens tokens;
    CHECK(tokens.empty());
    CHECK(tokens.finish() == SOTTO_FINISH_NONE);
    tokens.push({"one", "{}", true});
    CHECK(!tokens.ends());
    tokens.push({"", "", false, SOTTO_FINISH_STOP});
    CHECK(tokens.ends());
    auto item = sotto_init<sotto_step_item>();
    tokens.deliver(item);
    CHECK(view(item.text) == "one");
    CHECK(view(item.logprobs) == "{}");
    CHECK(item.generated == 1);
    CHECK(item.finish == SOTTO_FINISH_NONE);
    CHECK(tokens.finish() == SOTTO_FINISH_NONE);
    tokens.deliver(item);
    CHECK(view(item.text) == "");
    CHECK(item.generated == 0);
    CHECK(tokens.finish() == SOTTO_FINISH_STOP);
    CHECK(tokens.empty());
}

TEST_CASE("a full stream ends with the token that was chosen last") {
    ChosenTokens tokens;
    tokens.push({"one", "", true});
    tokens.push({"two", "", true});
    tokens.end(SOTTO_FINISH_LENGTH);
    auto item = sotto_init<sotto_step_item>();
    tokens.deliver(item);
    CHECK(item.finish == SOTTO_FINISH_NONE);
    tokens.deliver(item);
    CHECK(view(item.text) == "two");
    CHECK(item.finish == SOTTO_FINISH_LENGTH);
}
