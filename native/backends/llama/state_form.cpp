// The form in which a sequence's state fits contexts of any number of sequences.
#include "state_form.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr std::size_t kNumber = sizeof(std::uint32_t);

// Bytes of the tail, and what comes before it.
std::size_t tail_size(llama_context* context, llama_seq_id sequence) {
    const auto size = llama_state_seq_get_size_ext(context, sequence, LLAMA_STATE_SEQ_FLAGS_PARTIAL_ONLY);
    return std::max(size, StateForm::kBeginning) - StateForm::kBeginning;
}

} // namespace

StateForm::StateForm(llama_context* context) : sequences_(llama_n_seq_max(context)) {
    const auto tail = tail_size(context, 0);
    const auto head = llama_state_seq_get_size(context, 0) - StateForm::kBeginning - tail;
    const auto empty = kNumber * (1 + sequences_); // nothing but numbers
    head_counts_ = head == empty;
    tail_counts_ = tail == empty;
}

StatePieces StateForm::pieces_of(llama_context* context, Bytes state, llama_seq_id sequence) const {
    const auto tail = tail_size(context, sequence);
    if (state.size() < kBeginning + tail) {
        throw Error(SOTTO_ERROR_INFERENCE, "llama.cpp saves less of the sequence than it has");
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
        throw Error(SOTTO_ERROR_INFERENCE, "llama.cpp saves the sequence in a form that is not known");
    }
    return part.subspan(before, part.size() - before - after);
}

std::vector<std::uint8_t> StateForm::whole_of(const StatePieces& pieces) const {
    std::vector<std::uint8_t> whole;
    whole.reserve(
        kBeginning + pieces.head.size() + pieces.tail.size() +
        2 * kNumber * static_cast<std::size_t>(sequences_)
    );
    put(whole, pieces.beginning, false);
    put(whole, pieces.head, head_counts_);
    put(whole, pieces.tail, tail_counts_);
    return whole;
}

// It finds the cells whichever of the numbers tells of them.
void StateForm::put(std::vector<std::uint8_t>& whole, Bytes part, bool counts) const {
    if (counts) {
        const auto* number = reinterpret_cast<const std::uint8_t*>(&sequences_);
        whole.insert(whole.end(), number, number + kNumber);
    }
    whole.insert(whole.end(), part.begin(), part.end());
    if (counts) {
        whole.insert(whole.end(), kNumber * (sequences_ - 1), 0);
    }
}

} // namespace sotto::llama
