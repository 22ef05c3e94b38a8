// Prefixes that streams share: without a model.
#include "kv/shared_prefix.hpp"

#include <doctest/doctest.h>
#include <numeric>

using namespace sotto::llama;

namespace {

std::vector<llama_token> prompt(std::size_t common, llama_token own, std::size_t count) {
    std::vector<llama_token> made(common + count, own);
    std::iota(made.begin(), made.begin() + static_cast<std::ptrdiff_t>(common), 1000);
    return made;
}

struct Two {
    Two() {
        table.resize(2);
        table.assign(first);
    }
    SlotTable table{2, true};
    KvStream first{TokenSequence(prompt(100, 1, 20), {}), 0, true};
    KvStream second{TokenSequence(prompt(100, 2, 20), {}), 0, true};
};

} // namespace

TEST_CASE("a stream waits for another one that prefills the same prefix") {
    Two streams;
    streams.table.assign(streams.second);
    const auto found = find_shared_prefix(streams.table.slots(), streams.second, {});
    CHECK(found.leader == &streams.first);
    CHECK(found.led == 100);
    CHECK(found.source == kNoSlot);
}

TEST_CASE("a stream never waits for a stream that waits for it") {
    Two streams;
    streams.table.assign(streams.second);
    streams.first.wait.leader = &streams.second;
    CHECK(find_shared_prefix(streams.table.slots(), streams.second, {}).leader == nullptr);
}

TEST_CASE("a stream waits only for streams that the step prefills") {
    Two streams;
    streams.table.assign(streams.second);
    const auto none = [](const KvStream&) { return false; };
    CHECK(find_shared_prefix(streams.table.slots(), streams.second, none).leader == nullptr);
}

TEST_CASE("a stream copies what another one holds of its prompt") {
    Two streams;
    streams.first.tokens.hold(100);
    streams.table.assign(streams.second);
    const auto found = find_shared_prefix(streams.table.slots(), streams.second, {});
    CHECK(found.source == streams.first.slot);
    CHECK(found.count == 100);
}

TEST_CASE("short prefixes, and those of other adapters, are not shared") {
    Two streams;
    streams.first.tokens.hold(20);
    KvStream brief(TokenSequence(prompt(20, 3, 20), {}), 0, true);
    streams.table.assign(brief);
    CHECK(find_shared_prefix(streams.table.slots(), brief, {}).source == kNoSlot);
    streams.table.release(brief, false);
    streams.first.tokens.hold(100);
    KvStream adapted(TokenSequence(prompt(100, 3, 20), {}), 9, true);
    streams.table.assign(adapted);
    CHECK(find_shared_prefix(streams.table.slots(), adapted, {}).source == kNoSlot);
    CHECK(worth_copying(32, 0));
    CHECK(!worth_copying(31, 0));
}
