// Which stream gets which slot: without a model.
#include "kv/slot_table.hpp"

#include "runtime/fence.hpp"

#include <deque>
#include <doctest/doctest.h>
#include <numeric>

using namespace sotto::llama;

namespace {

std::vector<llama_token> tokens_from(llama_token first, std::size_t count) {
    std::vector<llama_token> made(count);
    std::iota(made.begin(), made.end(), first);
    return made;
}

KvStream stream_of(std::vector<llama_token> tokens, std::uint64_t adapters = 0, bool reuse = true) {
    return {TokenSequence(std::move(tokens), {}), adapters, reuse};
}

// Opens a stream, computes all of its tokens, and closes it.
llama_seq_id cache(SlotTable& table, std::vector<llama_token> tokens, std::uint64_t adapters = 0) {
    auto stream = stream_of(std::move(tokens), adapters);
    table.assign(stream);
    const auto slot = stream.slot;
    stream.tokens.hold(stream.tokens.tokens().size());
    table.release(stream, false);
    return slot;
}

} // namespace

TEST_CASE("a table without slots, and one whose slots are all in use, refuse a stream") {
    SlotTable table(2, true);
    auto a = stream_of({1, 2});
    CHECK_THROWS_AS(table.assign(a), Error);
    table.resize(1);
    CHECK(table.assign(a).slot == 0);
    CHECK(table.in_use() == 1);
    auto b = stream_of({1, 2});
    CHECK_THROWS_AS(table.assign(b), Error);
    CHECK(b.parked());
    table.release(a, false);
    CHECK(table.in_use() == 0);
    CHECK(table.assign(b).slot == 0);
}

TEST_CASE("a stream gets the slot with the longest prefix of its prompt") {
    SlotTable table(3, true);
    table.resize(3);
    const auto first = cache(table, tokens_from(0, 40));
    const auto second = cache(table, tokens_from(100, 40));
    CHECK(first != second);
    auto stream = stream_of(tokens_from(100, 60));
    const auto match = table.assign(stream);
    CHECK(match.slot == second);
    CHECK(match.common == 40);
}

TEST_CASE("the last token of a prompt is never taken from the cache") {
    SlotTable table(1, true);
    table.resize(1);
    cache(table, tokens_from(0, 40));
    auto stream = stream_of(tokens_from(0, 40));
    CHECK(table.assign(stream).common == 39);
}

TEST_CASE("a stream that reuses nothing, or has other adapters, finds no prefix") {
    SlotTable table(1, true);
    table.resize(1);
    cache(table, tokens_from(0, 40));
    auto alone = stream_of(tokens_from(0, 40), 0, false);
    CHECK(table.assign(alone).common == 0);
    alone.tokens.hold(40);
    table.release(alone, false);
    auto adapted = stream_of(tokens_from(0, 40), 7);
    CHECK(table.assign(adapted).common == 0);
}

TEST_CASE("empty slots are used before cached ones, then the least recently used") {
    SlotTable table(2, true);
    table.resize(2);
    const auto oldest = cache(table, tokens_from(0, 40));
    const auto newest = cache(table, tokens_from(100, 40));
    CHECK(cache(table, tokens_from(200, 40)) == oldest);
    CHECK(cache(table, tokens_from(300, 40)) == newest);
}

TEST_CASE("a parked stream comes back to its slot, even if it reuses nothing of others") {
    SlotTable table(2, true);
    table.resize(2);
    auto stream = stream_of(tokens_from(0, 40), 0, false);
    const auto slot = table.assign(stream).slot;
    stream.tokens.hold(30);
    table.release(stream, true);
    CHECK(stream.parked());
    CHECK(stream.tokens.tokens().size() == 40);
    cache(table, tokens_from(500, 10)); // the other slot is empty, and taken first
    const auto match = table.assign(stream);
    CHECK(match.slot == slot);
    CHECK(match.common == 30);
}

TEST_CASE("a parked stream that is closed leaves its tokens to others") {
    SlotTable table(1, true);
    table.resize(1);
    auto stream = stream_of(tokens_from(0, 40));
    table.assign(stream);
    stream.tokens.hold(40);
    table.release(stream, true);
    CHECK(table.slots()[0].parked == &stream);
    table.forget_parked(stream);
    CHECK(table.slots()[0].parked == nullptr);
    CHECK(table.slots()[0].tokens.size() == 40);
}

TEST_CASE("a state that a free slot holds is not restored again") {
    SlotTable table(2, true);
    table.resize(2);
    CHECK(!table.has_state(77, 10));
    const auto slot = table.take_for_state(tokens_from(0, 10), 0);
    table.put_state(slot, {tokens_from(0, 10), 0, SIZE_MAX, 77});
    CHECK(table.has_state(77, 10));
    auto stream = stream_of(tokens_from(0, 20));
    CHECK(table.assign(stream).common == 10);
    CHECK(stream.restored);
    CHECK(!table.has_state(77, 10)); // the slot is in use
}

TEST_CASE("a cleared table caches nothing, and its streams hold nothing") {
    SlotTable table(2, true);
    table.resize(2);
    cache(table, tokens_from(0, 40));
    auto stream = stream_of(tokens_from(100, 40));
    const auto slot = table.assign(stream).slot;
    stream.tokens.hold(40);
    table.clear_contents();
    CHECK(stream.slot == slot);
    CHECK(stream.tokens.held() == 0);
    for (const auto& each : table.slots()) {
        CHECK(each.tokens.empty());
    }
}

TEST_CASE("streams with equal adapters get neighbouring slots") {
    SlotTable table(4, true);
    table.resize(4);
    std::deque<KvStream> streams;
    for (const std::uint64_t adapters : {1, 2, 1, 2}) {
        streams.push_back(
            stream_of(tokens_from(static_cast<llama_token>(100 * streams.size()), 8), adapters)
        );
        table.assign(streams.back());
    }
    CHECK(std::abs(streams[0].slot - streams[2].slot) == 1);
    CHECK(std::abs(streams[1].slot - streams[3].slot) == 1);
}

TEST_CASE("a stream gets the slot that it wants, whatever that slot caches") {
    SlotTable table(3, true);
    table.resize(3);
    const auto other = cache(table, tokens_from(0, 40));
    const auto best = cache(table, tokens_from(100, 40));
    REQUIRE(other != best);
    auto stream = stream_of(tokens_from(100, 60));
    stream.wanted = other;
    auto match = table.assign(stream);
    CHECK(match.slot == other);
    CHECK(match.common == 0);
    table.release(stream, false);
    auto fitting = stream_of(tokens_from(100, 60));
    fitting.wanted = best;
    match = table.assign(fitting);
    CHECK(match.slot == best);
    CHECK(match.common == 40);
    CHECK(table.is_free(other));
    CHECK_FALSE(table.is_free(best));
    CHECK_FALSE(table.is_free(kNoSlot));
}

TEST_CASE("a slot that is in use or does not exist cannot be had by its number") {
    const auto status_of = [](const auto& call) {
        try {
            call();
        } catch (const Error& error) {
            return error.status();
        }
        return sotto_status(SOTTO_OK);
    };
    SlotTable table(2, true);
    table.resize(2);
    auto first = stream_of({1, 2});
    first.wanted = 1;
    table.assign(first);
    auto second = stream_of({1, 2});
    second.wanted = 1;
    CHECK(status_of([&] { table.assign(second); }) == SOTTO_ERROR_BUSY);
    second.wanted = 2;
    CHECK(status_of([&] { table.assign(second); }) == SOTTO_ERROR_ARGUMENT);
    CHECK(second.parked());
    CHECK(status_of([&] { table.free_slot(0); }) == SOTTO_OK);
    table.release(first, false);
    CHECK(table.free_slot(1).tokens.empty()); // it held no cells
    table.empty(1);
}
