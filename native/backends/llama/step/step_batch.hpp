// The llama_batch of a step: allocated once for the largest step, and refilled for each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <llama.h>
#include <vector>

namespace sotto::llama {

class StepBatch {
public:
    // `capacity`: in tokens. `slots`: exclusive maximum of slot numbers.
    StepBatch(std::size_t capacity, std::size_t slots);

    std::size_t capacity() const noexcept { return tokens_.size(); }
    std::int32_t size() const noexcept { return size_; }
    void clear() noexcept { size_ = 0; }

    // Appends a token. `output`: logits are computed for the token.
    void add(llama_seq_id slot, llama_pos position, llama_token token, bool output) noexcept;
    llama_batch tokens() noexcept;

    // Refills the batch with `count` embeddings of one slot. `output`: logits are computed for the
    // last embedding. `values` and `positions` must outlive the decode.
    llama_batch embeddings(
        llama_seq_id slot, std::size_t count, float* values, llama_pos* positions, bool output
    ) noexcept;

private:
    llama_seq_id* id_of(llama_seq_id slot) noexcept { return &slot_ids_[static_cast<std::size_t>(slot)]; }

    std::vector<llama_token> tokens_;
    std::vector<llama_pos> positions_;
    std::vector<std::int32_t> slot_counts_; // always 1: each token belongs to one slot
    std::vector<llama_seq_id> slot_ids_;
    std::vector<llama_seq_id*> slots_;
    std::vector<std::int8_t> outputs_;
    std::int32_t size_ = 0;
};

} // namespace sotto::llama
