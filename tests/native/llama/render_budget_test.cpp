// What a render may spend: without a template.
#include "chat/jinja/render_budget.hpp"

#include <doctest/doctest.h>
#include <stdexcept>

using namespace sotto::llama;

TEST_CASE("a render may take a million steps, and 2,000 more for each item") {
    for (const std::size_t items : {0, 3}) {
        RenderFailure failure;
        RenderBudget budget(items, failure, {});
        budget.steps(1'000'000 + items * 2'000);
        CHECK_THROWS_AS(budget.steps(1), TemplateError);
    }
}

TEST_CASE("the first excess is thrown again, whatever comes after it") {
    RenderFailure failure;
    RenderBudget budget(0, failure, {});
    CHECK_NOTHROW(failure.check());
    CHECK_THROWS_AS(failure.exceed("one"), TemplateError);
    CHECK_THROWS_WITH(failure.exceed("two"), "one");
    CHECK_THROWS_WITH(failure.check(), "one");
    CHECK_THROWS_WITH(budget.enter(), "one");
}

TEST_CASE("a render may be 256 nodes deep") {
    RenderFailure failure;
    RenderBudget budget(0, failure, {});
    for (int i = 0; i < 256; ++i) {
        budget.enter();
    }
    budget.leave();
    budget.enter();
    CHECK_THROWS_AS(budget.enter(), TemplateError);
}

TEST_CASE("what poll throws ends the render, and is kept") {
    RenderFailure failure;
    int polled = 0;
    RenderBudget budget(0, failure, [&] {
        if (++polled == 2) {
            throw std::runtime_error("cancelled");
        }
    });
    budget.steps(64);
    CHECK(polled == 1);
    budget.steps(63);
    CHECK(polled == 1);
    CHECK_THROWS_WITH(budget.steps(64), "cancelled");
    CHECK_THROWS_WITH(failure.check(), "cancelled");
}

TEST_CASE("the renders of one request call its poll and share its CPU time") {
    int polled = 0;
    RequestRenders request([&] { ++polled; });
    CHECK(RequestRenders::current() == &request);
    RenderFailure failure;
    {
        RenderBudget first(0, failure, {});
        first.steps(1);
        CHECK(polled == 1);
    }
    request.set_spent(std::chrono::seconds(6));
    RenderBudget second(0, failure, {});
    CHECK_THROWS_AS(second.steps(1), TemplateError);
}
