// What goes into one step.
#include <doctest/doctest.h>

#include "core/schedule/step_builder.hpp"

using sotto::ScheduledModel;
using sotto::ScheduledStream;
using sotto::Slice;
using sotto::StepBuilder;

namespace {

constexpr sotto::Limits kNoLimit = {.time = 1'000'000'000};

struct Streams {
    Streams() {
        model.traits.batches = true;
        model.traits.step_tokens = 16;
        model.costs.prepare(1);
    }

    Slice batch(std::uint64_t group = 0, const sotto::Limits& limits = kNoLimit) {
        return StepBuilder(inside, share, 1000, limits).batch(model, group);
    }
    Slice lone(const sotto::Limits& limits = kNoLimit) {
        return StepBuilder(inside, share, 1000, limits).lone(model);
    }

    ScheduledModel model;
    ScheduledStream first{model, {.number = 1}, nullptr, 0};
    ScheduledStream second{model, {.number = 2}, nullptr, 0};
    std::vector<ScheduledStream*> inside{&first, &second};
    sotto::FairShare share;
};

} // namespace

TEST_CASE("a step decodes for those that speak, and prefills what else fits") {
    Streams all;
    all.first.opened(8, 8);
    all.second.opened(100, 0);
    const auto slice = all.batch();
    CHECK(slice.kind == Slice::Kind::step);
    REQUIRE(slice.shares.size() == 2);
    CHECK(slice.shares[0].stream == &all.first);
    CHECK(slice.shares[0].tokens == 0);
    CHECK(slice.shares[1].stream == &all.second);
    CHECK(slice.shares[1].tokens == 15);
    CHECK(slice.load.answers == 1);
    CHECK(slice.load.prompt == 15);
}

TEST_CASE("the shortest prompt is prefilled first") {
    Streams all;
    all.first.opened(100, 0);
    all.second.opened(4, 0);
    const auto slice = all.batch();
    REQUIRE(slice.shares.size() == 2);
    CHECK(slice.shares[0].stream == &all.second);
    CHECK(slice.shares[0].tokens == 4);
    CHECK(slice.shares[1].tokens == 12);
}

TEST_CASE("a step is of one group") {
    Streams all;
    ScheduledStream other(all.model, {.number = 3, .group = 7}, nullptr, 0);
    all.inside.push_back(&other);
    all.first.opened(1, 1);
    other.opened(1, 1);
    for (const auto& stream : {&all.first, &other}) {
        all.model.account.reserve();
        all.model.account.enter(stream->terms.group);
    }
    const auto slice = all.batch(7);
    REQUIRE(slice.shares.size() == 1);
    CHECK(slice.shares[0].stream == &other);
    CHECK(all.model.last_group == 7);
}

TEST_CASE("where no stream may do anything, there is no step") {
    Streams all;
    CHECK(all.batch().kind == Slice::Kind::none);
}

TEST_CASE("a lone step is for the stream that was served the longest ago") {
    Streams all;
    all.first.opened(1, 1);
    all.second.opened(200, 10);
    all.first.served = 9;
    all.second.served = 8;
    auto slice = all.lone();
    REQUIRE(slice.shares.size() == 1);
    CHECK(slice.shares[0].stream == &all.second);
    CHECK(slice.shares[0].tokens == 16);
    all.model.traits.step_tokens = 0;
    slice = all.lone({.time = 1'000'000'000, .apart = true});
    CHECK(slice.shares[0].tokens == 54); // up to where pieces of 64 tokens end
}
