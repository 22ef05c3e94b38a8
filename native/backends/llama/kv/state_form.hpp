// Converts the saved state of a sequence so that it fits contexts with any number of sequences.
//
// llama.cpp writes a header, then one part per memory of the model. A part with keys and values holds the
// context's number of sequences and a cell count for each of them, which is zero for all but the saved one,
// whose cells follow. A context with another number of sequences refuses it. Therefore only the sequence's
// own cell count and cells are kept, and the counts around them are written anew.
#pragma once

#include "runtime/fence.hpp"

#include <cstdint>
#include <llama.h>
#include <span>

namespace sotto::llama {

using Bytes = std::span<const std::uint8_t>;

// A state without the parts that depend on its context.
struct StatePieces {
    Bytes beginning;
    Bytes head; // the first memory, if the model has two
    Bytes tail;
};

class StateForm {
public:
    static constexpr std::size_t kBeginning = 8; // bytes

    StateForm() = default;
    // The form of states of a context whose memory is still empty.
    explicit StateForm(llama_context* context);

    // Splits a sequence's state as llama.cpp wrote it. Throws Error if its layout is unknown.
    StatePieces pieces_of(llama_context* context, Bytes state, llama_seq_id sequence) const;
    // Size in bytes of the form that llama.cpp reads.
    std::size_t whole_size(const StatePieces& pieces) const noexcept;
    void write_whole(const StatePieces& pieces, std::uint8_t* out) const noexcept;

private:
    Bytes own_of(Bytes part, std::size_t sequence) const;
    std::uint8_t* put(std::uint8_t* out, Bytes part, bool counts) const noexcept;

    std::uint32_t sequences_ = 1;
    bool head_counts_ = false; // the part has a cell count for each sequence
    bool tail_counts_ = false;
};

} // namespace sotto::llama
