// The share of lower priorities while higher ones keep the models busy.
#include <algorithm>
#include <map>

#include <doctest/doctest.h>

#include "support/scheduled.hpp"

using namespace test;

namespace {

constexpr std::uint32_t kAnswer = 40; // tokens
constexpr std::int64_t kStep = 5 * kMillisecond;
constexpr double kPromised = 0.05; // fraction of the tokens: see include/sotto/request.h

// Streams of several priorities, each replaced by a new one as soon as it ends.
class Crowd {
public:
    explicit Crowd(ScheduledModel& model, World& world) : model_(model), world_(world) {}

    void add(sotto_priority priority, int count) {
        for (int i = 0; i < count; ++i) {
            ask(priority);
        }
    }

    // Executes `slices` slices, one every few milliseconds.
    void run(int slices) {
        for (int i = 0; i < slices; ++i) {
            now_ += kStep;
            const auto slice = world_.turn(now_);
            parks += slice.parks != nullptr;
            unparks += slice.kind == Slice::Kind::unpark;
            if (slice.kind != Slice::Kind::none) {
                slice.model().served_ns += kStep;
            }
            for (const auto& share : slice.shares) {
                took(*share.stream);
            }
        }
    }

    double share_of(sotto_priority priority) {
        std::uint32_t all = 0;
        for (const auto& [whose, count] : spoken) {
            all += count;
        }
        return static_cast<double>(spoken[priority]) / std::max(all, 1U);
    }

    std::map<sotto_priority, std::uint32_t> spoken;
    std::map<sotto_priority, int> answered;
    int parks = 0;
    int unparks = 0;

private:
    void ask(sotto_priority priority) {
        auto& stream = world_.stream(model_, 10, {.priority = priority});
        stream.served_at = now_;
        world_.scheduler.changed(stream);
    }

    void took(Stream& stream) {
        auto& before = said_[&stream];
        spoken[stream.terms.priority] += stream.generated - before;
        before = stream.generated;
        if (stream.generated >= kAnswer) {
            ++answered[stream.terms.priority];
            world_.end(stream);
            ask(stream.terms.priority);
        }
    }

    ScheduledModel& model_;
    World& world_;
    std::map<const Stream*, std::uint32_t> said_;
    std::int64_t now_ = kNow;
};

} // namespace

TEST_CASE(
    "lower priorities get their share of a model whose slots higher ones would fill, and keep the slot"
) {
    for (const auto lower : {SOTTO_PRIORITY_NORMAL, SOTTO_PRIORITY_BACKGROUND}) {
        World world;
        auto& model = world.model({.streams = 4, .parks = true});
        World::know(model);
        Crowd crowd(model, world);
        crowd.add(SOTTO_PRIORITY_FOREGROUND, 8);
        crowd.add(lower, 3);
        crowd.run(12'000);
        CHECK(crowd.share_of(lower) >= kPromised);
        CHECK(crowd.share_of(lower) <= 0.2);
        CHECK(crowd.answered[lower] >= 10);
        CHECK(crowd.parks <= crowd.answered[lower]);
        CHECK(crowd.unparks <= crowd.answered[lower]);
    }
}

TEST_CASE("each of two lower priorities gets its share") {
    World world;
    auto& model = world.model({.streams = 4, .parks = true});
    World::know(model);
    Crowd crowd(model, world);
    crowd.add(SOTTO_PRIORITY_FOREGROUND, 8);
    crowd.add(SOTTO_PRIORITY_NORMAL, 8);
    crowd.add(SOTTO_PRIORITY_BACKGROUND, 8);
    crowd.run(24'000);
    CHECK(crowd.share_of(SOTTO_PRIORITY_NORMAL) >= kPromised);
    CHECK(crowd.share_of(SOTTO_PRIORITY_BACKGROUND) >= kPromised);
    CHECK(crowd.share_of(SOTTO_PRIORITY_FOREGROUND) >= 0.6);
}

TEST_CASE("a lower priority gets its share of the steps of a model that cannot batch") {
    World world;
    auto& model = world.model({.streams = 4, .batches = false});
    auto& player = world.speaker(model, {.priority = SOTTO_PRIORITY_FOREGROUND});
    auto& gossip = world.speaker(model, {.priority = SOTTO_PRIORITY_BACKGROUND});
    for (int i = 0; i < 2000; ++i) {
        world.turn(kNow + i * kStep);
        model.served_ns += kStep;
    }
    CHECK(gossip.generated >= 2000 * kPromised);
    CHECK(player.generated >= 2000 * 0.8);
}

TEST_CASE("a lower priority gets its share beside another model whose streams have a higher one") {
    World world;
    auto& first = world.model();
    auto& second = world.model();
    auto& player = world.speaker(first, {.priority = SOTTO_PRIORITY_FOREGROUND});
    auto& gossip = world.speaker(second, {.priority = SOTTO_PRIORITY_NORMAL});
    for (int i = 0; i < 2000; ++i) {
        world.turn(kNow + i * kStep).model().served_ns += kStep;
    }
    CHECK(gossip.generated >= 2000 * kPromised);
    CHECK(player.generated >= 2000 * 0.8);
}

TEST_CASE("the prefill of a lower priority below its share leaves most of a step to higher priorities") {
    World world;
    auto& model = world.model({.streams = 4});
    World::know(model);
    auto& gossip = world.stream(model, 100'000, {.priority = SOTTO_PRIORITY_BACKGROUND});
    world.turn();
    auto& player = world.stream(model, 100'000, {.priority = SOTTO_PRIORITY_FOREGROUND});
    std::uint32_t theirs[2] = {};
    for (int i = 0; i < 500; ++i) {
        for (const auto& share : world.turn(kNow + i * kStep).shares) {
            theirs[share.stream == &player ? 1 : 0] += share.tokens;
        }
    }
    CHECK(gossip.remaining > player.remaining);
    CHECK(theirs[0] >= (theirs[0] + theirs[1]) * kPromised);
    CHECK(theirs[1] >= 2 * theirs[0]);
}

TEST_CASE("if higher priorities hold all slots but use little, a lower one is served within ten seconds") {
    World world;
    auto& model = world.model({.streams = 4, .batches = false});
    world.speaker(model, {.priority = SOTTO_PRIORITY_FOREGROUND});
    auto& gossip = world.speaker(model, {.priority = SOTTO_PRIORITY_BACKGROUND});
    world.turn();
    CHECK(gossip.generated == 0);
    world.turn(kNow + 9 * kSecond);
    CHECK(gossip.generated == 0);
    world.turn(kNow + 11 * kSecond);
    CHECK(gossip.generated == 1);
    world.turn(kNow + 11 * kSecond);
    CHECK(gossip.generated == 1);
}

TEST_CASE("within a priority, a stream that was not served for ten seconds precedes earlier deadlines") {
    World world;
    auto& model = world.model({.streams = 1});
    auto& speaker = world.speaker(model);
    auto& patient = world.stream(model, 10);
    auto& urgent = world.stream(model, 10, {.deadline = kNow + kSecond});
    urgent.served_at = kNow + 11 * kSecond;
    world.scheduler.changed(urgent);
    world.end(speaker);
    CHECK(who(world.turn(kNow + 11 * kSecond)) == Who{&patient});
}

TEST_CASE("a priority that has used up its share yields its slot to a higher one") {
    World world;
    auto& model = world.model({.streams = 1, .parks = true});
    auto& gossip = world.speaker(model, {.priority = SOTTO_PRIORITY_BACKGROUND});
    world.turn();
    auto& player = world.stream(model, 10, {.priority = SOTTO_PRIORITY_FOREGROUND});
    const auto slice = world.turn();
    CHECK(who(slice) == Who{&player});
    CHECK(slice.parks == &gossip);
}
