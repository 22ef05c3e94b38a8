// The trace lists every slice once, in order.
#include "core/telemetry/trace.hpp"

#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "support/game.hpp"

using namespace test;

namespace {

using Slices = std::vector<sotto_slice>;

sotto_slice slice_of(std::uint32_t tokens) {
    sotto_slice slice{};
    slice.generated_tokens = tokens;
    return slice;
}

// Takes at most `most` slices.
Slices take(sotto::Trace& trace, std::uint32_t most = UINT32_MAX) {
    Slices all;
    trace.take(most, [&](std::uint32_t index, const sotto_slice& slice) {
        CHECK(index == all.size());
        all.push_back(slice);
    });
    return all;
}

sotto_engine_desc traced(std::uint32_t slices) {
    auto desc = plain_desc();
    desc.trace_capacity = slices;
    return desc;
}

// Reads the whole trace of an engine, `capacity` slices at a time.
Slices read(sotto_engine* engine, std::uint32_t capacity) {
    Slices all;
    for (;;) {
        Slices some(capacity);
        some.front().struct_size = sizeof(sotto_slice);
        std::uint32_t count = 0;
        REQUIRE(sotto_engine_read_trace(engine, some.data(), capacity, &count) == SOTTO_OK);
        all.insert(all.end(), some.begin(), some.begin() + count);
        if (count == 0) {
            return all;
        }
    }
}

} // namespace

TEST_CASE("slices are read in order, and dropped ones are counted") {
    sotto::Trace trace(3);
    CHECK(take(trace).empty());
    for (std::uint32_t i = 1; i <= 5; ++i) {
        trace.add(slice_of(i));
    }
    auto slices = take(trace, 2);
    REQUIRE(slices.size() == 2);
    CHECK(slices[0].generated_tokens == 1);
    CHECK(slices[1].generated_tokens == 2);
    trace.add(slice_of(6));
    slices = take(trace);
    REQUIRE(slices.size() == 2);
    CHECK(slices[0].generated_tokens == 3);
    CHECK(slices[0].lost == 0);
    CHECK(slices[1].generated_tokens == 6);
    CHECK(slices[1].lost == 2);
}

TEST_CASE("a reader during writing loses and duplicates no slice") {
    constexpr std::uint32_t kSlices = 20'000;
    sotto::Trace trace(64);
    std::thread writer([&] {
        for (std::uint32_t i = 0; i < kSlices; ++i) {
            trace.add(slice_of(i));
        }
        while (!take(trace).empty()) { // a second reader
        }
        trace.add(slice_of(kSlices)); // also reports the remaining lost slices
    });
    std::uint64_t seen = 0;
    std::uint32_t last = 0;
    while (last != kSlices) {
        for (const auto& slice : take(trace, 7)) {
            CHECK((seen == 0 || slice.generated_tokens > last));
            last = slice.generated_tokens;
            ++seen;
        }
    }
    writer.join();
    CHECK(seen > 0);
}

TEST_CASE("an answer is traced as opening, prefill, and a step for each further token") {
    Game game(traced(100));
    game.have("npc", R"({"prompt_tokens": 5, "tokens": ["a", "b", "c"]})");
    game.finish(game.ask("npc", "hello"));
    const auto slices = read(game.engine(), 2);
    std::vector<sotto_slice_kind> kinds;
    std::uint64_t last = 1;
    std::uint32_t prompt = 0;
    std::uint32_t generated = 0;
    for (const auto& slice : slices) {
        kinds.push_back(slice.kind);
        CHECK(slice.struct_size == sizeof slice);
        CHECK(slice.begin_ns >= last);
        CHECK(slice.end_ns >= slice.begin_ns);
        CHECK(slice.streams == 1);
        CHECK(slice.threads >= 1);
        CHECK(slice.mode == SOTTO_MODE_PRIORITIZE_COMPUTE);
        CHECK(slice.lost == 0);
        last = slice.end_ns;
        prompt += slice.prompt_tokens;
        generated += slice.generated_tokens;
    }
    REQUIRE(kinds.size() >= 4);
    CHECK(kinds[0] == SOTTO_SLICE_OPEN);
    CHECK(kinds[1] == SOTTO_SLICE_PROMPT);
    CHECK(kinds[2] == SOTTO_SLICE_DECODE);
    CHECK(prompt == 5);
    CHECK(generated == 3);
}

TEST_CASE("a caller compiled with a shorter slice gets the fields that it knows") {
    Game game(traced(100));
    game.have("npc");
    game.finish(game.ask("npc", "hello"));
    constexpr std::uint32_t kShort = offsetof(sotto_slice, streams);
    unsigned char bytes[kShort * 2 + 1];
    std::memset(bytes, 0xEE, sizeof bytes);
    std::memcpy(bytes, &kShort, sizeof kShort);
    std::uint32_t count = 0;
    REQUIRE(
        sotto_engine_read_trace(game.engine(), reinterpret_cast<sotto_slice*>(bytes), 2, &count) == SOTTO_OK
    );
    REQUIRE(count == 2);
    std::uint32_t size = 0;
    std::memcpy(&size, bytes + kShort, sizeof size);
    CHECK(size == kShort);
    CHECK(bytes[sizeof bytes - 1] == 0xEE);
}

TEST_CASE("a disabled trace and an oversized one are refused; an empty buffer stays empty") {
    Game plain;
    sotto_slice slice{};
    slice.struct_size = sizeof slice;
    std::uint32_t count = 7;
    CHECK(sotto_engine_read_trace(plain.engine(), &slice, 1, &count) == SOTTO_ERROR_STATE);
    CHECK(count == 0);
    CHECK(last_error().find("desc->trace_capacity") != std::string::npos);

    Game game(traced(1));
    CHECK(sotto_engine_read_trace(game.engine(), nullptr, 0, &count) == SOTTO_OK);
    CHECK(sotto_engine_read_trace(game.engine(), nullptr, 1, &count) == SOTTO_ERROR_ARGUMENT);
    slice.struct_size = 0;
    CHECK(sotto_engine_read_trace(game.engine(), &slice, 1, &count) == SOTTO_ERROR_ARGUMENT);

    const auto desc = traced(UINT32_MAX);
    sotto_engine* made = nullptr;
    CHECK(sotto_engine_create(&desc, &made) == SOTTO_ERROR_ARGUMENT);
    CHECK(last_error() == "invalid desc->trace_capacity '4294967295': expected at most 1048576");
}
