// Common prefixes of streams are prefilled once, and no answer changes by that.
#include "module_under_test.hpp"

#include <doctest/doctest.h>
#include <random>

using namespace under_test;

namespace {

constexpr std::uint32_t kTokens = 16;

std::string lore(std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) {
        text += i % 3 == 0 ? "the king " : i % 3 == 1 ? "of gold " : "where river ";
    }
    return text;
}

const char* const kOwn[] = {
    "who is the queen", "what song is that", "a guard and a sword", "the moon in the night"
};

// A prompt with a common prefix of well over 64 tokens, and a few tokens of its own.
std::string prompt(std::size_t who, const std::string& more = R"("temperature": 0)") {
    return completion(lore(60) + kOwn[who % 4], more);
}

struct Kind {
    std::string path;
    std::string options;
};

const Kind kTiny = {tiny(), R"({"parallel": 4})"};
const Kind kKinds[] = {
    kTiny,
    {tiny(), R"({"parallel": 4, "kv_type": "q8_0"})"},
    {tiny(), R"({"parallel": 4, "flash_attention": "on"})"},
    {house(), R"({"parallel": 4, "context": 1024})"},
};

std::string fresh(const Kind& kind, const std::string& body, std::uint32_t most = kTokens) {
    Model model({.path = kind.path, .options = kind.options});
    REQUIRE_MESSAGE(model, model.why);
    Stream stream(model, body, SOTTO_OP_COMPLETION);
    return stream.run(most).text;
}

// Steps all streams together until each has ended or has `tokens` tokens. Returns the number of prefilled
// tokens.
std::uint32_t run_together(const std::vector<Stream*>& all, std::uint32_t tokens) {
    std::uint32_t evaluated = 0;
    for (int i = 0; i < 1000; ++i) {
        std::vector<Stream*> going;
        for (auto* stream : all) {
            if (stream->answer.finish == SOTTO_FINISH_NONE && stream->answer.tokens < kTokens) {
                going.push_back(stream);
            }
        }
        if (going.empty()) {
            return evaluated;
        }
        REQUIRE(step_together(going, tokens) == SOTTO_OK);
        for (auto* stream : going) {
            REQUIRE_MESSAGE(stream->work.status == SOTTO_OK, stream->answer.why);
            evaluated += stream->work.evaluated;
        }
    }
    FAIL("the streams come to no end");
    return evaluated;
}

} // namespace

TEST_CASE("a stream copies a shared prefix from one that is decoding") {
    for (const auto& kind : kKinds) {
        CAPTURE(kind.path);
        CAPTURE(kind.options);
        Model model({.path = kind.path, .options = kind.options});
        Stream first(model, prompt(0), SOTTO_OP_COMPLETION);
        first.run(5);
        Stream second(model, prompt(1), SOTTO_OP_COMPLETION);
        CHECK(second.answer.cached_tokens + 16 > second.answer.prompt_tokens);
        CHECK(second.run(kTokens).text == fresh(kind, prompt(1)));
        CHECK(first.run(kTokens).text == fresh(kind, prompt(0)));
        second.close();
        Stream third(model, prompt(2), SOTTO_OP_COMPLETION);
        CHECK(third.answer.cached_tokens + 16 > third.answer.prompt_tokens);
        CHECK(third.run(kTokens).text == fresh(kind, prompt(2)));
    }
}

TEST_CASE("an earlier stream keeps its cache beside a stream that shares its prefix") {
    Model model({.options = R"({"parallel": 4})"});
    for (std::size_t who = 0; who < 4; ++who) {
        Stream stream(model, prompt(who), SOTTO_OP_COMPLETION);
        CHECK((stream.answer.cached_tokens > 100) == (who > 0));
        stream.run(60); // would be lost if its slot were taken
    }
    for (std::size_t who = 0; who < 4; ++who) {
        Stream again(model, prompt(who), SOTTO_OP_COMPLETION);
        CHECK(again.answer.cached_tokens == again.answer.prompt_tokens - 1);
        CHECK(again.run(kTokens).text == fresh(kTiny, prompt(who)));
    }
}

TEST_CASE("of concurrent streams with one prefix, one prefills it and the others wait") {
    for (const auto& kind : kKinds) {
        CAPTURE(kind.path);
        CAPTURE(kind.options);
        for (const std::uint32_t tokens : {24u, 512u}) {
            Model model({.path = kind.path, .options = kind.options});
            std::vector<std::unique_ptr<Stream>> streams;
            std::vector<Stream*> all;
            for (std::size_t who = 0; who < 4; ++who) {
                streams.push_back(std::make_unique<Stream>(model, prompt(who), SOTTO_OP_COMPLETION));
                all.push_back(streams.back().get());
            }
            const auto evaluated = run_together(all, tokens);
            CHECK(evaluated < all[0]->answer.prompt_tokens + 4 * 16);
            for (std::size_t who = 0; who < 4; ++who) {
                CAPTURE(who);
                CHECK(all[who]->answer.text == fresh(kind, prompt(who)));
            }
        }
    }
}

TEST_CASE("a stream that others wait for may end, park, stall or be cancelled") {
    enum Fate { Closed, Parked, NotStepped, GivenNothing, Cancelled };
    for (const auto fate : {Closed, Parked, NotStepped, GivenNothing, Cancelled}) {
        CAPTURE(static_cast<int>(fate));
        Model model({.options = R"({"parallel": 3})"});
        Stream leader(model, prompt(0), SOTTO_OP_COMPLETION);
        Stream one(model, prompt(1), SOTTO_OP_COMPLETION);
        Stream two(model, prompt(2), SOTTO_OP_COMPLETION);
        REQUIRE(step_together({&leader, &one, &two}, 50) == SOTTO_OK);
        CHECK(leader.work.evaluated == 50);
        CHECK(one.work.evaluated == 0);
        CHECK(one.work.remaining == one.answer.prompt_tokens);
        if (fate == Closed) {
            leader.close();
        } else if (fate == Parked) {
            leader.park();
        } else if (fate == GivenNothing) {
            REQUIRE(step_together({&leader, &one, &two}, 0) == SOTTO_OK);
            leader.work.tokens = 0;
        } else if (fate == Cancelled) {
            REQUIRE(leader.step(60, [] { return true; }) == SOTTO_ERROR_CANCELLED);
        }
        if (fate == Cancelled) {
            run_together({&leader, &one, &two}, 20);
        } else {
            const auto evaluated = run_together({&one, &two}, 20);
            CHECK(evaluated < one.answer.prompt_tokens + 32);
        }
        CHECK(one.answer.text == fresh(kTiny, prompt(1)));
        CHECK(two.answer.text == fresh(kTiny, prompt(2)));
        if (fate == Parked) {
            leader.unpark();
        }
        if (fate != Closed) {
            CHECK(leader.run(kTokens).text == fresh(kTiny, prompt(0)));
        }
    }
}

TEST_CASE("a prefix with a gap from context shifting is not shared") {
    const Kind kind = {tiny(), R"({"parallel": 3, "context": 256})"};
    const auto shifting =
        prompt(0, R"("temperature": 0, "ignore_eos": true, "context_overflow": "shift", "n_keep": 40)");
    for (const bool closed : {false, true}) {
        Model model({.options = kind.options});
        Stream source(model, shifting, SOTTO_OP_COMPLETION);
        source.run(300);
        REQUIRE(source.answer.tokens == 300);
        if (closed) {
            source.close();
        }
        Stream next(model, prompt(1), SOTTO_OP_COMPLETION);
        CHECK(next.answer.cached_tokens == 40);
        CHECK(next.run(kTokens).text == fresh(kind, prompt(1)));
    }
}

TEST_CASE("shifting a stream after it was copied from changes no answer") {
    const Kind kind = {tiny(), R"({"parallel": 3, "context": 256})"};
    const auto shifting =
        prompt(0, R"("temperature": 0, "ignore_eos": true, "context_overflow": "shift", "n_keep": 40)");
    Model model({.options = kind.options});
    Stream source(model, shifting, SOTTO_OP_COMPLETION);
    source.run(1);
    Stream next(model, prompt(1), SOTTO_OP_COMPLETION);
    CHECK(next.answer.cached_tokens > 100);
    source.run(300);
    CHECK(next.run(kTokens).text == fresh(kind, prompt(1)));
}

TEST_CASE("a cache that cannot be truncated shares nothing, and no stream waits") {
    for (const char* file : {"tiny-window.gguf", "tiny-recurrent.gguf", "tiny-hybrid.gguf"}) {
        CAPTURE(file);
        const Kind kind = {tiny(file), R"({"parallel": 2})"};
        Model model({.path = kind.path, .options = kind.options});
        Stream one(model, prompt(0), SOTTO_OP_COMPLETION);
        Stream two(model, prompt(1), SOTTO_OP_COMPLETION);
        REQUIRE(step_together({&one, &two}, 50) == SOTTO_OK);
        CHECK(one.work.evaluated == 50);
        CHECK(two.work.evaluated == 50);
        CHECK(two.run(kTokens).text == fresh(kind, prompt(1)));
    }
}

TEST_CASE("with cache_prompt off, a stream waits for no other") {
    Model model;
    Stream alone(model, prompt(0), SOTTO_OP_COMPLETION, SOTTO_STREAM_ALONE);
    Stream other(model, prompt(1), SOTTO_OP_COMPLETION);
    Stream second(model, prompt(0), SOTTO_OP_COMPLETION, SOTTO_STREAM_ALONE);
    REQUIRE(step_together({&alone, &other, &second}, 50) == SOTTO_OK);
    CHECK(alone.work.evaluated == 50);
    CHECK(other.work.evaluated == 0);
    CHECK(second.work.evaluated == 50);
    run_together({&alone, &other, &second}, 40);
    CHECK(alone.answer.text == fresh(kTiny, prompt(0)));
    CHECK(second.answer.text == alone.answer.text);
    CHECK(other.answer.text == fresh(kTiny, prompt(1)));
}

TEST_CASE("streams that open, close, wait and park in any order all get answers") {
    std::mt19937 random(5);
    std::vector<std::string> expected;
    for (std::size_t who = 0; who < 4; ++who) {
        expected.push_back(fresh(kTiny, prompt(who), 6));
    }
    std::size_t answered = 0;
    std::size_t same = 0;
    Model model({.options = R"({"parallel": 4, "batch": 64})"});
    std::vector<std::pair<std::size_t, std::unique_ptr<Stream>>> open;
    std::vector<std::pair<std::size_t, std::unique_ptr<Stream>>> parked;
    for (int round = 0; answered < 60; ++round) {
        REQUIRE(round < 5000);
        if (open.size() < 4 && random() % 2 == 0) {
            if (!parked.empty() && random() % 2 == 0) {
                open.push_back(std::move(parked.back()));
                parked.pop_back();
                open.back().second->unpark();
                REQUIRE(open.back().second->answer.status == SOTTO_OK);
            } else {
                const auto who = random() % 4;
                open.emplace_back(who, std::make_unique<Stream>(model, prompt(who), SOTTO_OP_COMPLETION));
                REQUIRE(open.back().second->handle != nullptr);
            }
        }
        std::vector<Stream*> stepped;
        for (auto& [who, stream] : open) {
            if (random() % 4 != 0) {
                stepped.push_back(stream.get());
            }
        }
        if (!stepped.empty()) {
            REQUIRE(step_together(stepped, random() % 40) == SOTTO_OK);
        }
        for (std::size_t i = 0; i < open.size();) {
            auto& [who, stream] = open[i];
            REQUIRE(stream->work.status == SOTTO_OK);
            const bool done = stream->answer.tokens >= 6 || stream->answer.finish != SOTTO_FINISH_NONE;
            if (done) {
                ++answered;
                same += stream->answer.text == expected[who];
            } else if (random() % 16 == 0) {
                parked.push_back(std::move(open[i]));
                parked.back().second->park();
            } else if (random() % 32 != 0) { // otherwise it is cancelled
                ++i;
                continue;
            }
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
    CHECK(same >= 57); // rounding depends on the batch's shape
}
