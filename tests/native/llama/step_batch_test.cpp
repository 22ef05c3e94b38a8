// The batch of a step: without a model.
#include "step/step_batch.hpp"

#include <doctest/doctest.h>

using namespace sotto::llama;

TEST_CASE("a batch has the tokens that were added since it was cleared") {
    StepBatch batch(4, 3);
    CHECK(batch.capacity() == 4);
    batch.add(1, 0, 50, false);
    batch.clear();
    batch.add(2, 7, 60, false);
    batch.add(0, 3, 61, true);
    const auto made = batch.tokens();
    REQUIRE(made.n_tokens == 2);
    CHECK(made.embd == nullptr);
    CHECK(made.token[0] == 60);
    CHECK(made.pos[0] == 7);
    CHECK(made.n_seq_id[0] == 1);
    CHECK(*made.seq_id[0] == 2);
    CHECK(made.logits[0] == 0);
    CHECK(*made.seq_id[1] == 0);
    CHECK(made.logits[1] == 1);
}

TEST_CASE("a batch of embeddings belongs to one slot, and only its last may have logits") {
    StepBatch batch(4, 3);
    float values[6] = {};
    llama_pos positions[3] = {4, 4, 4};
    for (const bool output : {true, false}) {
        const auto made = batch.embeddings(1, 3, values, positions, output);
        CHECK(made.n_tokens == 3);
        CHECK(batch.size() == 3);
        CHECK(made.token == nullptr);
        CHECK(made.embd == values);
        CHECK(made.pos == positions);
        for (int i = 0; i < 3; ++i) {
            CHECK(*made.seq_id[i] == 1);
            CHECK(made.logits[i] == (output && i == 2 ? 1 : 0));
        }
    }
}
