// The KV cache of a tiny model, without an engine.
#include "tiny_parts.hpp"

#include <doctest/doctest.h>
#include <numeric>

using namespace tiny_parts;

namespace {

std::vector<llama_token> tokens_from(llama_token first, std::size_t count) {
    std::vector<llama_token> made(count);
    std::iota(made.begin(), made.end(), first);
    return made;
}

KvStream stream_of(std::vector<llama_token> tokens) {
    return {TokenSequence(std::move(tokens), {}), 0, true};
}

// Computes the first `count` tokens of a stream that the KV cache does not hold yet.
void compute(Parts& parts, KvStream& stream, std::size_t count) {
    auto batch = llama_batch_init(static_cast<std::int32_t>(count), 0, 1);
    for (std::size_t i = 0; i < count; ++i) {
        const auto at = stream.tokens.held() + i;
        batch.token[i] = stream.tokens.tokens()[at];
        batch.pos[i] = stream.tokens.position(at);
        batch.n_seq_id[i] = 1;
        batch.seq_id[i][0] = stream.slot;
        batch.logits[i] = 0;
    }
    batch.n_tokens = static_cast<std::int32_t>(count);
    REQUIRE(llama_decode(parts.contexts.get(), batch) == 0);
    llama_batch_free(batch);
    stream.tokens.advance(count);
    parts.kv.batch_done();
}

llama_pos cells_of(Parts& parts, const KvStream& stream) {
    return llama_memory_seq_pos_max(llama_get_memory(parts.contexts.get()), stream.slot) + 1;
}

std::int32_t append(void* context, const void* bytes, std::size_t count) {
    static_cast<std::string*>(context)->append(static_cast<const char*>(bytes), count);
    return 0;
}

} // namespace

TEST_CASE("a stream that was closed leaves its prefix to the next one") {
    Parts parts(2);
    auto first = stream_of(tokens_from(10, 50));
    parts.kv.open(first);
    compute(parts, first, 50);
    parts.kv.close(first);
    auto next = stream_of(tokens_from(10, 60));
    parts.kv.open(next);
    CHECK(next.tokens.held() == 50);
    CHECK(cells_of(parts, next) == 50);
}

TEST_CASE("a stream copies the prefix of one that is decoded meanwhile") {
    Parts parts(2);
    auto first = stream_of(tokens_from(10, 50));
    parts.kv.open(first);
    compute(parts, first, 50);
    auto second = stream_of(tokens_from(10, 60));
    parts.kv.open(second);
    CHECK(second.slot != first.slot);
    CHECK(second.tokens.held() == 50);
    CHECK(cells_of(parts, second) == 50);
    CHECK(cells_of(parts, first) == 50);
}

TEST_CASE("a stream waits for the prefix of one that is prefilled, and copies it then") {
    Parts parts(2);
    auto first = stream_of(tokens_from(10, 100));
    auto second = stream_of(tokens_from(10, 110));
    parts.kv.open(first);
    parts.kv.open(second);
    const auto all = [](const KvStream&) { return true; };
    CHECK(!parts.kv.waits(first, all));
    CHECK(parts.kv.waits(second, all));
    compute(parts, first, 50);
    CHECK(parts.kv.waits(second, all));
    compute(parts, first, 50);
    CHECK(!parts.kv.waits(second, all));
    CHECK(second.tokens.held() == 100);
}

TEST_CASE("a stream whose leader is closed goes on by itself") {
    Parts parts(2);
    auto first = stream_of(tokens_from(10, 100));
    auto second = stream_of(tokens_from(10, 110));
    parts.kv.open(first);
    parts.kv.open(second);
    CHECK(second.wait.leader == &first);
    parts.kv.close(first);
    CHECK(!parts.kv.waits(second, [](const KvStream&) { return true; }));
}

TEST_CASE("a parked stream takes up where it was, and tells how much is left of its prompt") {
    Parts parts(1);
    auto stream = stream_of(tokens_from(10, 50));
    parts.kv.open(stream);
    compute(parts, stream, 30);
    parts.kv.park(stream);
    CHECK(stream.parked());
    CHECK(parts.kv.unpark(stream) == 20);
    CHECK(stream.tokens.held() == 30);
    parts.kv.park(stream);
    parts.resize(2); // which loses what is cached
    CHECK(parts.kv.unpark(stream) == 50);
}

TEST_CASE("slots are not resized under a stream, and without slots no stream is opened") {
    Parts parts(2);
    auto stream = stream_of(tokens_from(10, 50));
    parts.kv.open(stream);
    CHECK_THROWS_AS(parts.resize(1), Error);
    parts.kv.park(stream);
    parts.resize(0);
    CHECK(parts.contexts.get() == nullptr);
    CHECK_THROWS_AS(parts.kv.unpark(stream), Error);
}

TEST_CASE("a saved state is restored into another model's cache") {
    std::string bytes;
    {
        Parts parts(2);
        auto stream = stream_of(tokens_from(10, 50));
        parts.kv.open(stream);
        CHECK_THROWS_AS(parts.kv.save(stream, append, &bytes), Error); // nothing is computed yet
        compute(parts, stream, 40);
        CHECK(parts.kv.save(stream, append, &bytes) == 40);
    }
    Parts other(3);
    CHECK(other.kv.restore(bytes) == 40);
    auto stream = stream_of(tokens_from(10, 50));
    other.kv.open(stream);
    CHECK(stream.tokens.held() == 40);
    CHECK(stream.restored);
    CHECK(cells_of(other, stream) == 40);
}

TEST_CASE("dropping the middle keeps the beginning and shifts the end") {
    Parts parts(1);
    auto stream = stream_of(tokens_from(10, 50));
    parts.kv.open(stream);
    compute(parts, stream, 50);
    parts.kv.drop_middle(stream, 10);
    CHECK(stream.tokens.tokens().size() == 30);
    CHECK(stream.tokens.held() == 30);
    CHECK(stream.tokens.exact() == 10);
    CHECK(stream.tokens.tokens()[10] == 40);
    std::string bytes;
    CHECK_THROWS_AS(parts.kv.save(stream, append, &bytes), Error); // until the cells are shifted
}

TEST_CASE("a cleared cache holds nothing of its streams, which keep their slots") {
    Parts parts(2);
    auto stream = stream_of(tokens_from(10, 50));
    parts.kv.open(stream);
    compute(parts, stream, 50);
    parts.kv.clear();
    CHECK(!stream.parked());
    CHECK(stream.tokens.held() == 0);
    CHECK(cells_of(parts, stream) == 0);
}

TEST_CASE("a cache that cannot be cut is emptied") {
    Parts parts(1, "tiny-recurrent.gguf");
    auto stream = stream_of(tokens_from(10, 50));
    parts.kv.open(stream);
    compute(parts, stream, 50);
    parts.kv.cut(stream, 20);
    CHECK(stream.tokens.held() == 0);
}

TEST_CASE("a slot is saved, restored and erased by its number") {
    Parts parts(2);
    auto first = stream_of(tokens_from(10, 50));
    first.wanted = 1;
    parts.kv.open(first);
    compute(parts, first, 50);
    std::string state;
    CHECK_THROWS_AS(parts.kv.save_slot(1, append, &state), Error); // in use
    CHECK_THROWS_AS(parts.kv.erase_slot(1), Error);
    CHECK(parts.kv.info_of(1).in_use == 1);
    CHECK(parts.kv.info_of(1).tokens == 50);
    parts.kv.close(first);
    CHECK_THROWS_AS(parts.kv.save_slot(0, append, &state), Error); // empty
    CHECK(parts.kv.save_slot(1, append, &state) == 50);
    CHECK(parts.kv.restore_slot(0, state) == 50);
    CHECK(parts.kv.info_of(0).tokens == 50);
    CHECK(parts.kv.erase_slot(1) == 50);
    CHECK(parts.kv.info_of(1).tokens == 0);
    CHECK_THROWS_AS(parts.kv.restore_slot(1, state.substr(0, 40)), Error);

    auto erased = stream_of(tokens_from(10, 60));
    erased.wanted = 1;
    parts.kv.open(erased); // copies from no other slot
    CHECK(erased.tokens.held() == 0);
    CHECK(cells_of(parts, erased) == 0);
    auto restored = stream_of(tokens_from(10, 60));
    restored.wanted = 0;
    parts.kv.open(restored);
    CHECK(restored.tokens.held() == 50);
    CHECK(cells_of(parts, restored) == 50);
}
