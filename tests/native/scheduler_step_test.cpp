// Contents of a step, and the time when it is due.
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "support/scheduled.hpp"

using namespace test;

TEST_CASE("a step takes the prompt tokens that fit its limit in addition to all decoding streams") {
    World world;
    auto& model = world.model();
    World::know(model);
    auto& speaker = world.speaker(model, {.tps = 1});
    auto& prompt = world.stream(model, 4000);
    world.make_and_tell(speaker, 2, 1, kNow);
    CHECK(world.turn().kind == Slice::Kind::open);
    auto slice = world.turn();
    CHECK(who(slice) == Who{&speaker, &prompt}); // only one token is left to deliver
    CHECK(slice.predicted <= kLimits.time);
    CHECK(slice.shares[1].tokens >= 60); // of the 80 that a margin of a fifth leaves
    CHECK(slice.shares[1].tokens <= 80);
}

TEST_CASE("steps start small and grow as measurements arrive") {
    World world;
    auto& model = world.model();
    world.stream(model, 4000);
    CHECK(world.turn().kind == Slice::Kind::open);
    std::uint32_t before = 0;
    for (int i = 0; i < 8; ++i) {
        const auto slice = world.turn(kNow, {.time = kSecond});
        const auto tokens = slice.shares[0].tokens;
        CHECK(tokens <= std::max(2 * before, 16U));
        model.costs.prepare(1);
        model.costs.learn(1, slice.load, tokens * kMillisecond);
        before = tokens;
    }
    CHECK(before > 500);
}

TEST_CASE("draft tokens count as decoded, and a step without decoding is not used for learning") {
    ScheduledModel model;
    model.costs.prepare(1);
    const auto took = [](std::uint32_t tokens) { return (8 + 2 * tokens) * kMillisecond; };
    const auto load = [](std::uint32_t tokens) {
        sotto::StepLoad load;
        load.add_answer(100, tokens);
        return load;
    };
    for (int i = 0; i < 20; ++i) {
        for (const auto tokens : {1u, 8u}) { // seven of eight tokens are draft tokens
            model.learn({.threads = 1, .load = load(tokens), .took = took(tokens), .ended = kNow});
        }
        for (int free = 0; free < 7; ++free) {
            model.learn({.threads = 1, .load = load(0), .took = 1000, .ended = kNow});
        }
    }
    CHECK(model.costs.predict(1, load(1)) == doctest::Approx(took(1)).epsilon(0.1));
    CHECK(model.costs.predict(1, load(8)) == doctest::Approx(took(8)).epsilon(0.1));
}

TEST_CASE("prefill never stalls streams whose output buffer is empty") {
    World other;
    auto& paced = other.model();
    World::know(paced);
    auto& dry = other.speaker(paced, {.tps = 20}); // 50 ms per token
    other.stream(paced, 4000);
    CHECK(other.turn().kind == Slice::Kind::open);
    other.make_and_tell(dry, 1, 1, kNow);
    CHECK(other.turn().limit <= 50 * kMillisecond);
    other.make_and_tell(dry, 3, 1, kNow);
    CHECK(other.turn().limit > 60 * kMillisecond);
}

TEST_CASE("a step has at most the model's maximum of prompt tokens") {
    World world;
    auto& small = world.model({.step_tokens = 10});
    world.stream(small, 100);
    world.turn();
    CHECK(tokens(world.turn()) == Tokens{10});
    World other;
    auto& alone = other.model({.step_tokens = 10, .batches = false});
    other.speaker(alone);
    other.stream(alone, 100);
    other.turn();
    bool seen = false;
    for (int i = 0; i < 3; ++i) {
        const auto slice = other.turn();
        REQUIRE(slice.shares.size() == 1);
        CHECK(slice.shares[0].tokens <= 10);
        seen = seen || slice.shares[0].tokens == 10;
    }
    CHECK(seen);
}

TEST_CASE("a paced answer is generated only a few tokens ahead") {
    World world;
    auto& model = world.model();
    auto& slow = world.speaker(model, {.tps = 12}); // three tokens are a quarter of a second
    int steps = 0;
    while (world.turn().kind == Slice::Kind::step) {
        REQUIRE(++steps < 10);
    }
    CHECK(slow.generated == 3); // the first token is due at once; half of the others suffice
    CHECK(slow.may_speak(kNow));
    world.make_and_tell(slow, 4, 0, kNow);
    CHECK_FALSE(slow.may_speak(kNow));
    world.make_and_tell(slow, 4, 4, kNow);
    CHECK(who(world.turn()) == Who{&slow});
}

TEST_CASE("paced answers are decoded together in full steps") {
    World world;
    auto& model = world.model();
    auto& dry = world.speaker(model, {.tps = 12});
    auto& ahead = world.speaker(model, {.tps = 12});
    auto& full = world.speaker(model, {.tps = 12});
    world.make_and_tell(dry, 1, 1, kNow);
    world.make_and_tell(ahead, 3, 1, kNow);
    world.make_and_tell(full, 4, 1, kNow);
    CHECK(who(world.turn()) == Who{&dry, &ahead});
}

TEST_CASE("a stream that is not due is skipped, and the earliest due time wakes the engine") {
    World world;
    auto& model = world.model();
    auto& slow = world.speaker(model, {.tps = 2});
    auto& fast = world.speaker(model, {.tps = 10});
    world.make_and_tell(slow, 3, 1, kNow);
    world.make_and_tell(fast, 4, 1, kNow);
    CHECK(world.turn().kind == Slice::Kind::none);
    CHECK(world.scheduler.wake(kNow) == kNow + 2 * kSecond / 10);
    CHECK(who(world.turn(kNow + 2 * kSecond / 10)) == Who{&fast}); // whether the host takes it or not
}

TEST_CASE("a long prompt does not stall decoding on a model that cannot batch") {
    World world;
    auto& model = world.model({.batches = false});
    auto& speaker = world.speaker(model);
    auto& prompt = world.stream(model, 10'000);
    CHECK(world.turn().kind == Slice::Kind::open);
    int spoke = 0;
    int prompted = 0;
    for (int i = 0; i < 20; ++i) {
        const auto slice = world.turn();
        spoke += who(slice) == Who{&speaker};
        prompted += who(slice) == Who{&prompt};
    }
    CHECK(spoke == 10);
    CHECK(prompted == 10);
}

TEST_CASE("deterministic: one stream per step, with fixed prefill chunks") {
    World world;
    auto& model = world.model({.streams = 4});
    World::know(model);
    const sotto::Limits apart = {.time = kMillisecond, .apart = true};
    world.speaker(model);
    auto& prompt = world.stream(model, 150);
    CHECK(world.turn(kNow, apart).kind == Slice::Kind::open);
    Tokens pieces;
    for (int i = 0; i < 12; ++i) {
        const auto slice = world.turn(kNow, apart);
        REQUIRE(slice.shares.size() == 1);
        if (slice.shares[0].stream == &prompt && slice.shares[0].tokens > 0) {
            pieces.push_back(slice.shares[0].tokens);
        }
    }
    CHECK(pieces == Tokens{64, 64, 22});
}

TEST_CASE("a step repeats itself if its streams have no pace and no other stream is due") {
    World world;
    auto& model = world.model({.streams = 2});
    auto& first = world.speaker(model);
    first.busy = true;
    CHECK(world.scheduler.goes_on(kNow));
    auto& second = world.speaker(model, {.tps = 1});
    CHECK_FALSE(world.scheduler.goes_on(kNow)); // its first token is due
    world.make_and_tell(second, 3, 1, kNow);
    CHECK(world.scheduler.goes_on(kNow));
    world.make_and_tell(second, 3, 3, kNow);
    CHECK_FALSE(world.scheduler.goes_on(kNow));
    world.make_and_tell(second, 5, 3, kNow);
    world.stream(model, 10); // no slot is free for it
    CHECK(world.scheduler.goes_on(kNow));
    world.end(second);
    CHECK_FALSE(world.scheduler.goes_on(kNow)); // now a slot is free
}

TEST_CASE("a step does not repeat itself into a pace, a prompt or the end of an answer") {
    World world;
    auto& model = world.model();
    auto& paced = world.speaker(model, {.tps = 5});
    paced.busy = true;
    CHECK_FALSE(world.scheduler.goes_on(kNow));
    world.end(paced);
    auto& reading = world.stream(model, 100);
    world.turn(); // admitted
    reading.busy = true;
    CHECK_FALSE(world.scheduler.goes_on(kNow));
    reading.stepped(0, true, kNow);
    CHECK(world.scheduler.goes_on(kNow));
    reading.state = Stream::State::over;
    CHECK_FALSE(world.scheduler.goes_on(kNow));
}
