// Converts the saved state of a sequence, so that it fits contexts with any number of sequences.
#include "kv/state_form.hpp"

#include <algorithm>
#include <cstring>

namespace sotto::llama {
namespace {

constexpr std::size_t kNumber = sizeof(std::uint32_t);

// Returns the size in bytes of StatePieces::tail. A state that llama.cpp saves with
// LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY consists of StatePieces::beginning and StatePieces::tail.
std::size_t tail_size(llama_context* context, llama_seq_id sequence) {
    const auto size = llama_state_seq_get_size_ext(context, sequence, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
    return std::max(size, StateForm::kBeginning) - StateForm::kBeginning;
}

} // namespace

StateForm::StateForm(llama_context* context) : sequences_(llama_n_seq_max(context)) {
    const auto tail = tail_size(context, 0);
    const auto head = llama_state_seq_get_size(context, 0) - StateForm::kBeginning - tail;
    const auto empty = kNumber * (1 + sequences_); // size of a part without cells
    head_counts_ = head == empty;
    tail_counts_ = tail == empty;
}

StatePieces StateForm::pieces_of(llama_context* context, Bytes state, llama_seq_id sequence) const {
    const auto tail = tail_size(context, sequence);
    if (state.size() < kBeginning + tail) {
        throw Error(SOTTO_ERROR_INFERENCE, "llama.cpp saved the sequence incompletely");
    }
    const auto of = static_cast<std::size_t>(sequence);
    const auto head = state.subspan(kBeginning, state.size() - kBeginning - tail);
    return {
        state.first(kBeginning),
        head_counts_ ? own_of(head, of) : head,
        tail_counts_ ? own_of(state.last(tail), of) : state.last(tail),
    };
}

Bytes StateForm::own_of(Bytes part, std::size_t sequence) const {
    const auto before = kNumber * (1 + sequence);
    const auto after = kNumber * (sequences_ - 1 - sequence);
    const auto zero = [](Bytes numbers) {
        return std::ranges::all_of(numbers, [](auto byte) { return byte == 0; });
    };
    if (part.size() < before + kNumber + after || !zero(part.first(before).subspan(kNumber)) ||
        !zero(part.last(after))) {
        throw Error(SOTTO_ERROR_INFERENCE, "llama.cpp saved the sequence in an unknown format");
    }
    return part.subspan(before, part.size() - before - after);
}

std::size_t StateForm::whole_size(const StatePieces& pieces) const noexcept {
    const auto numbers = kNumber * sequences_;
    return pieces.beginning.size() + pieces.head.size() + (head_counts_ ? numbers : 0) + pieces.tail.size() +
           (tail_counts_ ? numbers : 0);
}

void StateForm::write_whole(const StatePieces& pieces, std::uint8_t* out) const noexcept {
    out = put(out, pieces.beginning, false);
    out = put(out, pieces.head, head_counts_);
    put(out, pieces.tail, tail_counts_);
}

// Writes one part and returns the start of the next one. If `counts` is true, also writes the number of
// sequences and a cell count for each sequence: the cells then belong to sequence 0, and llama.cpp can
// restore them into any sequence.
std::uint8_t* StateForm::put(std::uint8_t* out, Bytes part, bool counts) const noexcept {
    if (counts) {
        std::memcpy(out, &sequences_, kNumber);
        out += kNumber;
    }
    out = std::copy(part.begin(), part.end(), out);
    const std::size_t others = counts ? kNumber * (sequences_ - 1) : 0;
    return std::fill_n(out, others, std::uint8_t{0});
}

} // namespace sotto::llama
