// What the scheduler does next, rule by rule.
#include "core/schedule/scheduler.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"
#include "support/reply.hpp"

using sotto::ModelEntry;
using sotto::Scheduler;
using sotto::Slice;
using sotto::Stream;
using test::make_and_tell;

namespace {

constexpr std::int64_t kNow = 1'000'000'000;
constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kSecond = 1000 * kMillisecond;
constexpr sotto::Limits kLimits = {.time = 100 * kMillisecond};

std::int32_t SOTTO_CALL go_on(void* /*context*/, float /*progress*/) {
    return 0;
}

// How a stream is wanted.
struct Wish {
    float tps = 0;
    sotto_priority priority = SOTTO_PRIORITY_NORMAL;
    std::int64_t deadline = 0;
};

// The scheduler, and as much of an engine around it as it sees.
class World {
public:
    World() : backend_(test::scripted()) {}

    ModelEntry& model(const std::string& script) {
        sotto_model_source source{};
        source.struct_size = sizeof source;
        source.path = test::str("a path");
        source.options = test::str(script);
        source.progress = go_on;
        auto entry = std::make_unique<ModelEntry>(sotto::Asked{});
        entry->model = std::make_unique<sotto::Model>(backend_, source);
        entry->state = ModelEntry::State::ready;
        entries_.push_back(std::move(entry));
        return *entries_.back();
    }

    Stream& stream(ModelEntry& entry, std::uint32_t prompt, const Wish& wish = {}) {
        sotto::Asked asked;
        asked.op = SOTTO_OP_CHAT;
        asked.target_tps = wish.tps;
        asked.priority = wish.priority;
        asked.deadline_ns = wish.deadline;
        auto reply = test::reply_in(table_, std::move(asked), kNow);
        streams_.push_back(std::make_unique<Stream>(std::move(reply), 0, entry, kNow));
        prompts_[streams_.back().get()] = prompt;
        scheduler.add(*streams_.back());
        return *streams_.back();
    }

    // A stream that has been let in, and has worked through its prompt.
    Stream& speaker(ModelEntry& entry, const Wish& wish = {}) {
        auto& made = stream(entry, 1, wish);
        ++entry.open_streams;
        made.opened({.prompt_tokens = 1, .cached_tokens = 1, .stops = "", .result = ""}, kNow);
        return made;
    }

    // Steps take a millisecond for each token, whatever else.
    static void know(ModelEntry& entry) {
        entry.costs.prepare(1);
        for (std::uint32_t tokens = 1; tokens <= 256; tokens *= 2) {
            sotto::StepLoad prompt;
            prompt.add_prompt(tokens, 0);
            prompt.reach = 0;
            entry.costs.learn(1, prompt, tokens * kMillisecond);
            sotto::StepLoad answers;
            answers.answers = tokens;
            entry.costs.learn(1, answers, tokens * kMillisecond);
        }
    }

    // Does what a slice says, as the engine would.
    Slice turn(std::int64_t now = kNow, const sotto::Limits& limits = kLimits) {
        auto slice = scheduler.next(now, limits);
        for (const auto& share : slice.shares) {
            Stream& stream = *share.stream;
            if (slice.parks != nullptr) {
                slice.parks->state = Stream::State::parked;
                --stream.entry.open_streams;
            }
            if (slice.kind == Slice::Kind::unpark) {
                ++stream.entry.open_streams;
                stream.unparked(0);
                continue;
            }
            if (slice.kind == Slice::Kind::open) {
                ++stream.entry.open_streams;
                stream.opened({.prompt_tokens = prompts_[&stream], .stops = "", .result = ""}, now);
                continue;
            }
            const auto left = stream.remaining - std::min(share.tokens, stream.remaining);
            stream.stepped(left, left == 0, now);
            if (left == 0) {
                stream.told(stream.counts().generated);
            }
        }
        if (!slice.shares.empty()) {
            slice.entry().served_ns += std::max<std::int64_t>(slice.predicted, kMillisecond);
        }
        return slice;
    }

    void end(Stream& stream) {
        stream.state = Stream::State::over;
        scheduler.remove(stream);
        --stream.entry.open_streams;
    }

    Scheduler scheduler;

private:
    sotto::Backend backend_;
    sotto::RequestTable table_;
    std::vector<std::unique_ptr<ModelEntry>> entries_;
    std::vector<std::unique_ptr<Stream>> streams_;
    std::map<const Stream*, std::uint32_t> prompts_;
};

std::vector<const Stream*> who(const Slice& slice) {
    std::vector<const Stream*> all;
    for (const auto& share : slice.shares) {
        all.push_back(share.stream);
    }
    return all;
}

std::vector<std::uint32_t> tokens(const Slice& slice) {
    std::vector<std::uint32_t> all;
    for (const auto& share : slice.shares) {
        all.push_back(share.tokens);
    }
    return all;
}

using Who = std::vector<const Stream*>;
using Tokens = std::vector<std::uint32_t>;

} // namespace

TEST_CASE("with nothing to do, nothing is done, and nothing will be due") {
    World world;
    CHECK(world.turn().kind == Slice::Kind::none);
    CHECK(world.scheduler.wake(kNow) == sotto::kNever);
}

TEST_CASE("whoever came first is let in first, but not two in a row while others have work") {
    World world;
    auto& model = world.model(R"({"streams": 2})");
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

TEST_CASE("a full model lets nobody in, and stands still when nobody in it has work") {
    World world;
    auto& model = world.model(R"({"streams": 1})");
    auto& speaker = world.speaker(model, {.tps = 1});
    make_and_tell(speaker, 2, 1, kNow); // one token is made beforehand, as many as there shall be
    make_and_tell(speaker, 3, 1, kNow);
    world.stream(model, 10);
    CHECK(world.turn().kind == Slice::Kind::none);
    CHECK(world.scheduler.wake(kNow) == kNow + kSecond);
}

TEST_CASE("what matters more goes first; of that what is due earlier; of that what has least left") {
    World world;
    auto& model = world.model(R"({"streams": 8})");
    World::know(model);
    auto& late = world.stream(model, 200, {.deadline = kNow + kSecond});
    auto& early = world.stream(model, 200, {.deadline = kNow + kSecond / 2});
    auto& idle = world.stream(model, 20, {.priority = SOTTO_PRIORITY_BACKGROUND});
    auto& plain = world.stream(model, 60);
    auto& shorter = world.stream(model, 50);
    auto& player = world.stream(model, 200, {.priority = SOTTO_PRIORITY_FOREGROUND});
    for (Stream* stream : {&late, &early, &idle, &plain, &shorter, &player}) { // all are let in
        ++model.open_streams;
        stream->opened(
            {.prompt_tokens = stream == &idle      ? 20U
                              : stream == &plain   ? 60U
                              : stream == &shorter ? 50U
                                                   : 200U,
             .stops = "",
             .result = ""},
            kNow
        );
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

TEST_CASE("a step takes as many prompt tokens as fit its limit, and those who speak come with it") {
    World world;
    auto& model = world.model("{}");
    World::know(model);
    auto& speaker = world.speaker(model, {.tps = 1});
    auto& prompt = world.stream(model, 4000);
    make_and_tell(speaker, 2, 1, kNow);
    CHECK(world.turn().kind == Slice::Kind::open);
    auto slice = world.turn();
    CHECK(who(slice) == Who{&speaker, &prompt}); // it has but one token to tell
    CHECK(slice.predicted <= kLimits.time);
    CHECK(slice.shares[1].tokens >= 60); // of the 80 that a margin of a fifth leaves
    CHECK(slice.shares[1].tokens <= 80);
}

TEST_CASE("before anything is known steps are small, and they grow as they are measured") {
    World world;
    auto& model = world.model("{}");
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

TEST_CASE("no prompt stops the speech of those who have nothing left to tell") {
    World other;
    auto& paced = other.model("{}");
    World::know(paced);
    auto& dry = other.speaker(paced, {.tps = 20}); // 50 ms a token
    other.stream(paced, 4000);
    CHECK(other.turn().kind == Slice::Kind::open);
    make_and_tell(dry, 1, 1, kNow);
    CHECK(other.turn().limit <= 50 * kMillisecond);
    make_and_tell(dry, 3, 1, kNow);
    CHECK(other.turn().limit > 60 * kMillisecond);
}

TEST_CASE("no step is given more prompt tokens than the model is worth") {
    World world;
    auto& small = world.model(R"({"step_tokens": 10})");
    world.stream(small, 100);
    world.turn();
    CHECK(tokens(world.turn()) == Tokens{10});
    World other;
    auto& alone = other.model(R"({"step_tokens": 10, "batchable": false})");
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

TEST_CASE("a paced answer is worked on a few tokens ahead, and not further") {
    World world;
    auto& model = world.model("{}");
    auto& slow = world.speaker(model, {.tps = 12}); // three tokens are a quarter of a second
    int steps = 0;
    while (world.turn().kind == Slice::Kind::step) {
        REQUIRE(++steps < 10);
    }
    CHECK(slow.counts().generated == 3); // the first is due at once; of the others half are enough
    CHECK(slow.may_speak(kNow));
    make_and_tell(slow, 4, 0, kNow);
    CHECK_FALSE(slow.may_speak(kNow));
    make_and_tell(slow, 4, 4, kNow);
    CHECK(who(world.turn()) == Who{&slow});
}

TEST_CASE("paced answers are worked on together, so that a step is full") {
    World world;
    auto& model = world.model("{}");
    auto& dry = world.speaker(model, {.tps = 12});
    auto& ahead = world.speaker(model, {.tps = 12});
    auto& full = world.speaker(model, {.tps = 12});
    make_and_tell(dry, 1, 1, kNow);
    make_and_tell(ahead, 3, 1, kNow);
    make_and_tell(full, 4, 1, kNow);
    CHECK(who(world.turn()) == Who{&dry, &ahead});
}

TEST_CASE("who is not due is left out, and the earliest of them wakes the engine") {
    World world;
    auto& model = world.model("{}");
    auto& slow = world.speaker(model, {.tps = 2});
    auto& fast = world.speaker(model, {.tps = 10});
    make_and_tell(slow, 3, 1, kNow);
    make_and_tell(fast, 4, 1, kNow);
    CHECK(world.turn().kind == Slice::Kind::none);
    CHECK(world.scheduler.wake(kNow) == kNow + 2 * kSecond / 10);
    CHECK(who(world.turn(kNow + 2 * kSecond / 10)) == Who{&fast}); // whether the host takes it or not
}

TEST_CASE("streams of a model that cannot batch take turns") {
    World world;
    auto& model = world.model(R"({"batchable": false})");
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

TEST_CASE("a long prompt does not silence those who speak on a model that cannot batch") {
    World world;
    auto& model = world.model(R"({"batchable": false})");
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

TEST_CASE("each for itself: one stream a step, its prompt in pieces that are always the same") {
    World world;
    auto& model = world.model(R"({"streams": 4})");
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

TEST_CASE("models take turns by the time that they had, however many streams each has") {
    World world;
    auto& crowded = world.model(R"({"streams": 8})");
    auto& lonely = world.model("{}");
    World::know(crowded);
    World::know(lonely);
    for (int i = 0; i < 8; ++i) {
        world.speaker(crowded);
    }
    world.speaker(lonely);
    int turns[2] = {};
    for (int i = 0; i < 90; ++i) {
        ++turns[&world.turn().entry() == &lonely ? 1 : 0];
    }
    CHECK(turns[1] >= 6 * turns[0]); // a step of the crowd takes eight times as long
    CHECK(turns[1] <= 9 * turns[0]);
}

TEST_CASE("a model that did nothing for long is not owed that time") {
    World world;
    auto& busy = world.model("{}");
    auto& fresh = world.model("{}");
    world.speaker(busy);
    for (int i = 0; i < 1000; ++i) {
        world.turn();
    }
    world.speaker(fresh);
    int turns = 0;
    for (int i = 0; i < 20; ++i) {
        turns += &world.turn().entry() == &fresh ? 1 : 0;
    }
    CHECK(turns >= 9);
    CHECK(turns <= 11);
}

TEST_CASE("who matters more takes the place of who matters less, who gets it back afterwards") {
    World world;
    auto& model = world.model(R"({"streams": 2, "parkable": true})");
    auto& gossip = world.speaker(model, {.priority = SOTTO_PRIORITY_BACKGROUND});
    auto& plain = world.speaker(model);
    world.turn();
    auto& player = world.stream(model, 10, {.priority = SOTTO_PRIORITY_FOREGROUND});
    auto slice = world.turn(); // the very next one
    CHECK(slice.kind == Slice::Kind::open);
    CHECK(who(slice) == Who{&player});
    CHECK(slice.parks == &gossip);
    auto& second = world.stream(model, 10, {.priority = SOTTO_PRIORITY_FOREGROUND});
    CHECK(world.turn().kind == Slice::Kind::step); // not two enter in a row
    slice = world.turn();
    CHECK(who(slice) == Who{&second});
    CHECK(slice.parks == &plain);
    world.end(player);
    CHECK(world.turn().kind == Slice::Kind::step);
    slice = world.turn();
    CHECK(slice.kind == Slice::Kind::unpark);
    CHECK(who(slice) == Who{&plain});
}

TEST_CASE("nobody takes the place of those that matter as much, or where the model cannot park") {
    World world;
    auto& model = world.model(R"({"streams": 1, "parkable": true})");
    auto& first = world.speaker(model);
    world.stream(model, 10);
    CHECK(who(world.turn()) == Who{&first});
    World other;
    auto& stiff = other.model(R"({"streams": 1})");
    auto& speaker = other.speaker(stiff, {.priority = SOTTO_PRIORITY_BACKGROUND});
    other.stream(stiff, 10, {.priority = SOTTO_PRIORITY_FOREGROUND});
    CHECK(who(other.turn()) == Who{&speaker});
}

TEST_CASE("whoever waits long counts as mattering more, so that nobody waits for ever") {
    World world;
    auto& model = world.model(R"({"batchable": false, "streams": 4})");
    auto& player = world.speaker(model, {.priority = SOTTO_PRIORITY_FOREGROUND});
    auto& gossip = world.speaker(model, {.priority = SOTTO_PRIORITY_BACKGROUND});
    CHECK(who(world.turn()) == Who{&player});
    CHECK(who(world.turn(kNow + 5 * kSecond)) == Who{&player});
    CHECK(who(world.turn(kNow + 11 * kSecond)) == Who{&gossip});
    CHECK(who(world.turn(kNow + 11 * kSecond)) == Who{&player});
}

TEST_CASE("a stream that was removed is never chosen again") {
    World world;
    auto& model = world.model("{}");
    auto& first = world.speaker(model);
    auto& second = world.speaker(model);
    world.end(first);
    CHECK(who(world.turn()) == Who{&second});
    world.end(second);
    CHECK(world.turn().kind == Slice::Kind::none);
}

TEST_CASE("a step goes on by itself where its streams have no pace and nobody else is due") {
    World world;
    auto& model = world.model(R"({"streams": 2})");
    auto& first = world.speaker(model);
    first.busy = true;
    CHECK(world.scheduler.goes_on(kNow));
    auto& second = world.speaker(model, {.tps = 1});
    CHECK_FALSE(world.scheduler.goes_on(kNow)); // its first token is due
    make_and_tell(second, 3, 1, kNow);
    CHECK(world.scheduler.goes_on(kNow));
    make_and_tell(second, 3, 3, kNow);
    CHECK_FALSE(world.scheduler.goes_on(kNow));
    make_and_tell(second, 5, 3, kNow);
    world.stream(model, 10); // there is no room for it
    CHECK(world.scheduler.goes_on(kNow));
    world.end(second);
    CHECK_FALSE(world.scheduler.goes_on(kNow)); // now there is
}

TEST_CASE("a step does not go on by itself into a pace, or a prompt, or past the end") {
    World world;
    auto& model = world.model("{}");
    auto& paced = world.speaker(model, {.tps = 5});
    paced.busy = true;
    CHECK_FALSE(world.scheduler.goes_on(kNow));
    world.end(paced);
    auto& reading = world.stream(model, 100);
    world.turn(); // let in
    reading.busy = true;
    CHECK_FALSE(world.scheduler.goes_on(kNow));
    reading.stepped(0, true, kNow);
    CHECK(world.scheduler.goes_on(kNow));
    reading.state = Stream::State::over;
    CHECK_FALSE(world.scheduler.goes_on(kNow));
}
