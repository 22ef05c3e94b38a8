// Converts the saved state of a sequence, so that it fits contexts with any number of sequences.
//
// llama.cpp writes a beginning, then one part for each memory of the model: a KV cache or a recurrent state.
// A KV cache part contains the number of sequences of the context, then the number of saved cells for each
// sequence. Only the saved sequence has a number other than 0, followed by its cells. A context with a
// different number of sequences rejects such a part. StateForm therefore keeps only the saved sequence's own
// number and cells, and regenerates the numbers around them.
#pragma once

#include "runtime/fence.hpp"

#include <cstdint>
#include <llama.h>
#include <span>

namespace sotto::llama {

using Bytes = std::span<const std::uint8_t>;

// A state without the data that depend on the context's number of sequences.
struct StatePieces {
    Bytes beginning;
    Bytes head; // part of the first memory of a model with two; otherwise empty
    Bytes tail; // part of the second or only memory
};

class StateForm {
public:
    static constexpr std::size_t kBeginning = 8; // bytes

    StateForm() = default;
    // `context` must be empty.
    explicit StateForm(llama_context* context);

    // Splits the state of a sequence as llama.cpp wrote it. Throws Error(SOTTO_ERROR_INFERENCE) if the state
    // is incomplete or has an unknown format.
    StatePieces pieces_of(llama_context* context, Bytes state, llama_seq_id sequence) const;
    // Returns the size in bytes of the state that write_whole() writes.
    std::size_t whole_size(const StatePieces& pieces) const noexcept;
    // Writes the state in llama.cpp's format for the current context. `out`: whole_size() bytes.
    void write_whole(const StatePieces& pieces, std::uint8_t* out) const noexcept;

private:
    Bytes own_of(Bytes part, std::size_t sequence) const;
    std::uint8_t* put(std::uint8_t* out, Bytes part, bool counts) const noexcept;

    std::uint32_t sequences_ = 1;
    bool head_counts_ = false; // the head has a cell count for each sequence
    bool tail_counts_ = false; // the tail has a cell count for each sequence
};

} // namespace sotto::llama
