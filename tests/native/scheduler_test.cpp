// Order of streams.
#include <algorithm>
#include <vector>

#include <doctest/doctest.h>

#include "support/scheduled.hpp"

using namespace test;

TEST_CASE("without work nothing is scheduled and no wake time is set") {
    World world;
    CHECK(world.turn().kind == Slice::Kind::none);
    CHECK(world.scheduler.wake(kNow) == sotto::kNever);
}

TEST_CASE("streams are admitted in order of arrival, but never two in a row while others have work") {
    World world;
    auto& model = world.model({.streams = 2});
    auto& first = world.stream(model, 10);
    auto& second = world.stream(model, 10);
    auto& third = world.stream(model, 10);
    auto slice = world.turn();
    CHECK(slice.kind == Slice::Kind::open);
    CHECK(who(slice) == Who{&first});
    CHECK(who(world.turn()) == Who{&first}); // a step
    slice = world.turn();
    CHECK(slice.kind == Slice::Kind::open);
    CHECK(who(slice) == Who{&second});
    CHECK(world.turn().kind == Slice::Kind::step);
    world.end(first);
    slice = world.turn();
    CHECK(slice.kind == Slice::Kind::open);
    CHECK(who(slice) == Who{&third});
}

TEST_CASE("a full model admits no stream, and idles if no admitted stream has work") {
    World world;
    auto& model = world.model({.streams = 1});
    auto& speaker = world.speaker(model, {.tps = 1});
    world.make_and_tell(speaker, 2, 1, kNow); // one token ahead, the maximum
    world.make_and_tell(speaker, 3, 1, kNow);
    world.stream(model, 10);
    CHECK(world.turn().kind == Slice::Kind::none);
    CHECK(world.scheduler.wake(kNow) == kNow + kSecond);
}

TEST_CASE("order: priority, then deadline, then shortest remaining prefill") {
    World world;
    auto& model = world.model({.streams = 8});
    World::know(model);
    auto& late = world.stream(model, 40, {.deadline = kNow + kSecond});
    auto& early = world.stream(model, 40, {.deadline = kNow + kSecond / 2});
    auto& idle = world.stream(model, 5, {.priority = SOTTO_PRIORITY_BACKGROUND});
    auto& plain = world.stream(model, 15);
    auto& shorter = world.stream(model, 12);
    auto& player = world.stream(model, 40, {.priority = SOTTO_PRIORITY_FOREGROUND});
    for (Stream* stream : {&late, &early, &idle, &plain, &shorter, &player}) { // all are admitted
        ++model.open_streams;
        stream->opened(stream == &idle ? 5U : stream == &plain ? 15U : stream == &shorter ? 12U : 40U, 0);
        world.scheduler.changed(*stream);
    }
    Who order;
    for (int i = 0; i < 200 && order.size() < 6; ++i) {
        for (const auto& share : world.turn().shares) {
            if (share.stream->state == Stream::State::speaking && share.tokens > 0) {
                order.push_back(share.stream);
            }
        }
    }
    CHECK(order == Who{&player, &early, &late, &shorter, &plain, &idle});
}

TEST_CASE("streams of a model that cannot batch take turns") {
    World world;
    auto& model = world.model({.batches = false});
    auto& first = world.speaker(model);
    auto& second = world.speaker(model);
    auto& third = world.speaker(model);
    Who turns;
    for (int i = 0; i < 6; ++i) {
        const auto slice = world.turn();
        REQUIRE(slice.shares.size() == 1);
        turns.push_back(slice.shares[0].stream);
    }
    CHECK(turns == Who{&first, &second, &third, &first, &second, &third});
}

TEST_CASE("models take turns by compute time, however many streams each has") {
    World world;
    auto& crowded = world.model({.streams = 8});
    auto& lonely = world.model();
    World::know(crowded);
    World::know(lonely);
    for (int i = 0; i < 8; ++i) {
        world.speaker(crowded);
    }
    world.speaker(lonely);
    int turns[2] = {};
    for (int i = 0; i < 90; ++i) {
        ++turns[&world.turn().model() == &lonely ? 1 : 0];
    }
    CHECK(turns[1] >= 6 * turns[0]); // a step of the full model takes eight times as long
    CHECK(turns[1] <= 9 * turns[0]);
}

TEST_CASE("an idle model accumulates no compute time") {
    World world;
    auto& busy = world.model();
    auto& fresh = world.model();
    world.speaker(busy);
    for (int i = 0; i < 1000; ++i) {
        world.turn();
    }
    world.speaker(fresh);
    int turns = 0;
    for (int i = 0; i < 20; ++i) {
        turns += &world.turn().model() == &fresh ? 1 : 0;
    }
    CHECK(turns >= 9);
    CHECK(turns <= 11);
}

TEST_CASE("a stream of lower priority is preempted when no slot is free, and resumes later") {
    World world;
    auto& model = world.model({.streams = 2, .parks = true});
    auto& gossip = world.speaker(model, {.priority = SOTTO_PRIORITY_BACKGROUND});
    auto& plain = world.speaker(model);
    world.turn();
    auto& player = world.stream(model, 10, {.priority = SOTTO_PRIORITY_FOREGROUND});
    auto slice = world.turn(); // the very next one
    CHECK(slice.kind == Slice::Kind::open);
    CHECK(who(slice) == Who{&player});
    CHECK(slice.parks == &gossip);
    auto& second = world.stream(model, 10, {.priority = SOTTO_PRIORITY_FOREGROUND});
    CHECK(world.turn().kind == Slice::Kind::step); // never two admissions in a row
    slice = world.turn();
    CHECK(who(slice) == Who{&second});
    CHECK(slice.parks == &plain);
    world.end(player);
    CHECK(world.turn().kind == Slice::Kind::step);
    slice = world.turn();
    CHECK(slice.kind == Slice::Kind::unpark);
    CHECK(who(slice) == Who{&plain});
}

TEST_CASE("a pinned stream is never preempted, and resumes before others of its priority") {
    World world;
    auto& model = world.model({.streams = 2, .parks = true});
    auto& pinned = world.speaker(model, {.priority = SOTTO_PRIORITY_BACKGROUND, .pinned = true});
    auto& plain = world.speaker(model);
    auto& player = world.stream(model, 10, {.priority = SOTTO_PRIORITY_FOREGROUND});
    auto slice = world.turn();
    CHECK(who(slice) == Who{&player});
    CHECK(slice.parks == &plain);
    world.stream(model, 10, {.priority = SOTTO_PRIORITY_FOREGROUND});
    for (int i = 0; i < 5; ++i) {
        CHECK(world.turn().parks == nullptr);
    }
    World other;
    auto& few = other.model({.streams = 1, .parks = true});
    auto& first = other.stream(few, 10);
    auto& second = other.stream(few, 10, {.pinned = true});
    first.state = second.state = Stream::State::parked; // as after preemption
    other.scheduler.changed(first);
    other.scheduler.changed(second);
    CHECK(who(other.turn()) == Who{&second});
    CHECK(pinned.state == Stream::State::speaking);
}

TEST_CASE("a stream whose slot is pinned is admitted at once, and no stream is parked for it") {
    World world;
    auto& model = world.model({.streams = 2, .parks = true});
    world.speaker(model, {.priority = SOTTO_PRIORITY_BACKGROUND});
    ++model.open_streams; // the other slot is pinned
    auto& waits = world.stream(model, 10);
    CHECK(world.turn().parks != nullptr);
    world.end(waits);
    World other;
    auto& full = other.model({.streams = 2, .parks = true});
    auto& speaker = other.speaker(full);
    ++full.open_streams;
    auto& late = other.stream(full, 10);
    CHECK(who(other.turn()) == Who{&speaker});
    late.expected = true;
    other.scheduler.changed(late);
    const auto slice = other.turn();
    CHECK(who(slice) == Who{&late});
    CHECK(slice.parks == nullptr);
}

TEST_CASE("a stream of equal priority is not preempted, nor one of a model that cannot park") {
    World world;
    auto& model = world.model({.streams = 1, .parks = true});
    auto& first = world.speaker(model);
    world.stream(model, 10);
    CHECK(who(world.turn()) == Who{&first});
    World other;
    auto& stiff = other.model({.streams = 1});
    auto& speaker = other.speaker(stiff, {.priority = SOTTO_PRIORITY_BACKGROUND});
    other.stream(stiff, 10, {.priority = SOTTO_PRIORITY_FOREGROUND});
    CHECK(who(other.turn()) == Who{&speaker});
}

TEST_CASE("a removed stream is never scheduled again") {
    World world;
    auto& model = world.model();
    auto& first = world.speaker(model);
    auto& second = world.speaker(model);
    world.end(first);
    CHECK(who(world.turn()) == Who{&second});
    world.end(second);
    CHECK(world.turn().kind == Slice::Kind::none);
}
