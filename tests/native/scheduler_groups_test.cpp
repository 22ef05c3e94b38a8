// Streams with different adapters take turns and never share a step.
#include <cstdint>
#include <map>
#include <set>

#include <doctest/doctest.h>

#include "support/scheduled.hpp"

using namespace test;

namespace {

constexpr std::uint64_t kPirate = 7;
constexpr std::uint64_t kPoet = 9;

std::set<std::uint64_t> groups_of(const Slice& slice) {
    std::set<std::uint64_t> groups;
    for (const auto& share : slice.shares) {
        groups.insert(share.stream->terms.group);
    }
    return groups;
}

// Compute time of each group, and the number of changes between groups.
struct Spent {
    std::map<std::uint64_t, std::int64_t> of;
    int changes = 0;
};

Spent spend(World& world, std::int64_t until) {
    Spent spent;
    std::uint64_t last = 0;
    for (std::int64_t now = kNow; now < kNow + until;) {
        const auto slice = world.turn(now);
        REQUIRE(slice.kind == Slice::Kind::step);
        const auto groups = groups_of(slice);
        REQUIRE(groups.size() == 1);
        spent.changes += *groups.begin() != last ? 1 : 0;
        last = *groups.begin();
        const auto took = std::max<std::int64_t>(slice.predicted, kMillisecond);
        spent.of[last] += took;
        now += took;
    }
    return spent;
}

} // namespace

TEST_CASE("a step contains streams of one group, and all of those that decode") {
    World world;
    auto& model = world.model({.streams = 8});
    World::know(model);
    auto& plain = world.speaker(model);
    auto& pirate = world.speaker(model, {.group = kPirate});
    auto& other_pirate = world.speaker(model, {.group = kPirate});
    std::set<Who> seen;
    for (int i = 0; i < 200; ++i) {
        seen.insert(who(world.turn()));
    }
    CHECK(seen == std::set<Who>{{&plain}, {&pirate, &other_pirate}});
}

TEST_CASE("groups get the same compute time, however many streams they have") {
    World world;
    auto& model = world.model({.streams = 8});
    World::know(model);
    world.speaker(model);
    for (int i = 0; i < 5; ++i) {
        world.speaker(model, {.group = kPirate});
    }
    world.speaker(model, {.group = kPoet});
    auto spent = spend(world, 6 * kSecond);
    for (const std::uint64_t group : {std::uint64_t{0}, kPirate, kPoet}) {
        CHECK(spent.of[group] > 1900 * kMillisecond);
        CHECK(spent.of[group] < 2100 * kMillisecond);
    }
    CHECK(spent.changes <= 6000 / 50 + 2); // not every step: each change costs the backend time
    CHECK(spent.changes >= 6000 / 200);    // but often
}

TEST_CASE("a group that had no slot for long does not lock others out") {
    World world;
    auto& model = world.model({.streams = 8});
    World::know(model);
    world.speaker(model);
    auto& late = world.stream(model, 1, {.group = kPirate});
    late.unprepared = true; // it waits, and is known to the scheduler
    world.scheduler.changed(late);
    spend(world, 5 * kSecond);
    ++model.open_streams;
    late.unprepared = false;
    late.opened(1, 1);
    world.scheduler.changed(late);
    auto spent = spend(world, kSecond);
    CHECK(spent.of[0] > 350 * kMillisecond);
    CHECK(spent.of[kPirate] > 350 * kMillisecond);
}

TEST_CASE("between groups, priority decides, and paced streams of one are not late because of the other") {
    World world;
    auto& model = world.model({.streams = 8});
    World::know(model);
    world.speaker(model);
    auto& player = world.speaker(model, {.priority = SOTTO_PRIORITY_FOREGROUND, .group = kPirate});
    CHECK(who(world.turn()) == Who{&player});
    CHECK(who(world.turn()) == Who{&player});

    World other;
    auto& paced_model = other.model({.streams = 8});
    World::know(paced_model);
    other.speaker(paced_model); // without a pace
    auto& paced = other.speaker(paced_model, {.tps = 10, .group = kPirate});
    std::int64_t worst = 0;
    for (std::int64_t now = kNow; now < kNow + 5 * kSecond;) {
        const bool due = paced.due(now) <= now;
        const auto since = due ? now - paced.due(now) : 0;
        worst = std::max(worst, since);
        const auto slice = other.turn(now);
        now += std::max<std::int64_t>(slice.predicted, kMillisecond);
        other.make_and_tell(paced, paced.generated, paced.generated, now);
    }
    CHECK(worst <= 60 * kMillisecond);
}

TEST_CASE("prompts of a group are prefilled only in its own steps") {
    World world;
    auto& model = world.model({.streams = 8});
    World::know(model);
    auto& plain = world.speaker(model);
    auto& prompt = world.stream(model, 4000, {.group = kPirate});
    bool prompted = false;
    for (int i = 0; i < 200; ++i) {
        const auto slice = world.turn();
        const auto streams = who(slice);
        prompted = prompted || (slice.kind == Slice::Kind::step && streams == Who{&prompt});
        CHECK((streams == Who{&plain} || streams == Who{&prompt}));
    }
    CHECK(prompted);
}
