// The llama_batch of a step.
#include "step/step_batch.hpp"

#include <algorithm>
#include <numeric>

namespace sotto::llama {

StepBatch::StepBatch(std::size_t capacity, std::size_t slots)
    : tokens_(capacity), positions_(capacity), slot_counts_(capacity, 1), slot_ids_(slots), slots_(capacity),
      outputs_(capacity) {
    std::iota(slot_ids_.begin(), slot_ids_.end(), 0);
}

void StepBatch::add(llama_seq_id slot, llama_pos position, llama_token token, bool output) noexcept {
    const auto i = static_cast<std::size_t>(size_++);
    tokens_[i] = token;
    positions_[i] = position;
    slots_[i] = id_of(slot);
    outputs_[i] = output ? 1 : 0;
}

llama_batch StepBatch::tokens() noexcept {
    return {
        size_,
        tokens_.data(),
        nullptr,
        positions_.data(),
        slot_counts_.data(),
        slots_.data(),
        outputs_.data(),
    };
}

llama_batch StepBatch::embeddings(
    llama_seq_id slot, std::size_t count, float* values, llama_pos* positions, bool output
) noexcept {
    size_ = static_cast<std::int32_t>(count);
    std::fill_n(slots_.begin(), count, id_of(slot));
    std::fill_n(outputs_.begin(), count, std::int8_t{0});
    outputs_[count - 1] = output ? 1 : 0;
    return {
        size_,
        nullptr,
        values,
        positions,
        slot_counts_.data(),
        slots_.data(),
        outputs_.data(),
    };
}

} // namespace sotto::llama
