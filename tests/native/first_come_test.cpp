// What the plain scheduler does next.
#include "core/first_come.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"

using sotto::FirstCome;
using sotto::ModelEntry;
using sotto::Slice;
using sotto::Stream;

namespace {

constexpr std::int64_t kNow = 1'000'000'000;
constexpr sotto::Limits kLimits = {.prompt_tokens = 128};

std::int32_t SOTTO_CALL go_on(void* /*context*/, float /*progress*/) {
    return 0;
}

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

    Stream& stream(ModelEntry& entry, std::uint32_t prompt, float tps = 0) {
        sotto::Slot* slot = table_.add({}, kNow);
        slot->asked.target_tps = tps;
        auto reply = std::make_shared<sotto::Reply>(*slot, sotto::Prompted{});
        streams_.push_back(std::make_unique<Stream>(std::move(reply), 0, entry, 0, kNow));
        prompts_[streams_.back().get()] = prompt;
        scheduler.add(*streams_.back());
        return *streams_.back();
    }

    // A stream that has been let in, and has worked through its prompt.
    Stream& speaker(ModelEntry& entry, float tps = 0) {
        auto& made = stream(entry, 1, tps);
        ++entry.open_streams;
        made.opened({.prompt_tokens = 1, .cached_tokens = 1, .stops = "", .result = ""}, kNow);
        return made;
    }

    // Does what a slice says, as the engine would.
    Slice turn(std::int64_t now = kNow, const sotto::Limits& limits = kLimits) {
        auto slice = scheduler.next(now, limits);
        for (const auto& share : slice.shares) {
            Stream& stream = *share.stream;
            if (slice.kind == Slice::Kind::open) {
                ++stream.entry.open_streams;
                stream.opened({.prompt_tokens = prompts_[&stream], .stops = "", .result = ""}, now);
                continue;
            }
            const auto left = stream.remaining - std::min(share.tokens, stream.remaining);
            stream.stepped(left, left == 0, now);
        }
        return slice;
    }

    void end(Stream& stream) {
        stream.state = Stream::State::over;
        scheduler.remove(stream);
        --stream.entry.open_streams;
    }

    FirstCome scheduler;

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
    CHECK(world.scheduler.wake() == sotto::kNever);
}

TEST_CASE("whoever came first is let in first, and waits for nobody who came later") {
    World world;
    auto& model = world.model(R"({"streams": 2})");
    auto& first = world.stream(model, 10);
    auto& second = world.stream(model, 10);
    auto& third = world.stream(model, 10);
    auto slice = world.turn();
    CHECK(slice.kind == Slice::Kind::open);
    CHECK(who(slice) == Who{&first});
    slice = world.turn();
    CHECK(slice.kind == Slice::Kind::open);
    CHECK(who(slice) == Who{&second});
    slice = world.turn();
    CHECK(slice.kind == Slice::Kind::step);
    CHECK(who(slice) == Who{&first, &second});
    world.end(first);
    slice = world.turn();
    CHECK(slice.kind == Slice::Kind::open);
    CHECK(who(slice) == Who{&third});
}

TEST_CASE("a full model lets nobody in, and stands still when nobody in it has work") {
    World world;
    auto& model = world.model(R"({"streams": 1})");
    world.speaker(model, 1.0F).stepped(0, true, kNow);
    world.stream(model, 10);
    CHECK(world.turn().kind == Slice::Kind::none);
    CHECK(world.scheduler.wake() == kNow + 1'000'000'000);
}

TEST_CASE("prompts share a step's tokens in order of arrival") {
    World world;
    auto& model = world.model("{}");
    auto& first = world.stream(model, 100);
    auto& second = world.stream(model, 100);
    auto& third = world.stream(model, 100);
    for (int i = 0; i < 3; ++i) {
        CHECK(world.turn().kind == Slice::Kind::open);
    }
    auto slice = world.turn();
    CHECK(who(slice) == Who{&first, &second});
    CHECK(tokens(slice) == Tokens{100, 28});
    slice = world.turn(); // the first speaks now, and shares the step
    CHECK(who(slice) == Who{&first, &second, &third});
    CHECK(tokens(slice) == Tokens{0, 72, 56});
}

TEST_CASE("no step is given more prompt tokens than the model is worth") {
    World world;
    auto& small = world.model(R"({"step_tokens": 16})");
    world.stream(small, 100);
    world.turn();
    CHECK(tokens(world.turn()) == Tokens{16});
    World other;
    auto& alone = other.model(R"({"step_tokens": 16, "batchable": false})");
    other.speaker(alone);
    other.stream(alone, 100);
    other.turn();
    bool seen = false;
    for (int i = 0; i < 3; ++i) {
        const auto slice = other.turn();
        REQUIRE(slice.shares.size() == 1);
        CHECK(slice.shares[0].tokens <= 16);
        seen = seen || slice.shares[0].tokens == 16;
    }
    CHECK(seen);
}

TEST_CASE("who is not due is left out, and the earliest of them wakes the engine") {
    World world;
    auto& model = world.model("{}");
    auto& slow = world.speaker(model, 2.0F);
    auto& fast = world.speaker(model, 10.0F);
    auto& free = world.speaker(model);
    CHECK(who(world.turn()) == Who{&slow, &fast, &free});
    CHECK(who(world.turn()) == Who{&free});
    world.end(free);
    CHECK(world.turn().kind == Slice::Kind::none);
    CHECK(world.scheduler.wake() == kNow + 100'000'000);
    CHECK(world.turn(kNow + 99'999'999).kind == Slice::Kind::none);
    CHECK(who(world.turn(kNow + 100'000'000)) == Who{&fast});
    CHECK(who(world.turn(kNow + 500'000'000)) == Who{&slow, &fast});
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

TEST_CASE("long prompts take turns too on a model that cannot batch") {
    World world;
    auto& model = world.model(R"({"batchable": false})");
    auto& first = world.stream(model, 10'000);
    auto& second = world.stream(model, 10'000);
    CHECK(world.turn().kind == Slice::Kind::open);
    CHECK(world.turn().kind == Slice::Kind::open);
    CHECK(who(world.turn()) == Who{&first});
    CHECK(who(world.turn()) == Who{&second});
    CHECK(who(world.turn()) == Who{&first});
}

TEST_CASE("models take turns, however many streams each has") {
    World world;
    auto& crowded = world.model(R"({"streams": 8})");
    auto& lonely = world.model("{}");
    for (int i = 0; i < 8; ++i) {
        world.speaker(crowded);
    }
    world.speaker(lonely);
    std::vector<const ModelEntry*> turns;
    for (int i = 0; i < 6; ++i) {
        turns.push_back(&world.turn().entry());
    }
    CHECK(std::count(turns.begin(), turns.end(), &lonely) == 3);
    CHECK(turns[0] != turns[1]);
    CHECK(turns[1] != turns[2]);
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
    auto& second = world.speaker(model, 1.0F);
    CHECK_FALSE(world.scheduler.goes_on(kNow)); // its first token is due
    second.stepped(0, true, kNow);
    CHECK(world.scheduler.goes_on(kNow));
    CHECK_FALSE(world.scheduler.goes_on(kNow + 1'000'000'000));
    world.stream(model, 10); // there is no room for it
    CHECK(world.scheduler.goes_on(kNow));
    world.end(second);
    CHECK_FALSE(world.scheduler.goes_on(kNow)); // now there is
}

TEST_CASE("a step does not go on by itself into a pace, or a prompt, or past the end") {
    World world;
    auto& model = world.model("{}");
    auto& paced = world.speaker(model, 5.0F);
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
