// The form in which a sequence's state fits contexts of any number of sequences.
//
// llama.cpp writes a beginning, then a part for each memory that a model has. One of keys and values tells
// how many sequences the context has, and for each of them how many cells belong to the one that is saved:
// none, but for its own, which follow. A context with another number of sequences refuses that. So of such a
// part only the sequence's own number and cells are kept, and what belongs around them is made anew.
#pragma once

#include "runtime/fence.hpp"

#include <cstdint>
#include <llama.h>
#include <span>

namespace sotto::llama {

using Bytes = std::span<const std::uint8_t>;

// A state without what hangs on its context.
struct StatePieces {
    Bytes beginning;
    Bytes head; // of a model that has two memories, the first
    Bytes tail;
};

class StateForm {
public:
    static constexpr std::size_t kBeginning = 8; // bytes

    StateForm() = default;
    // Of a context that remembers nothing yet.
    explicit StateForm(llama_context* context);

    // Of a sequence's state as llama.cpp wrote it. Throws Error where it is not as it is known to be.
    StatePieces pieces_of(llama_context* context, Bytes state, llama_seq_id sequence) const;
    // As llama.cpp reads it: so many bytes.
    std::size_t whole_size(const StatePieces& pieces) const noexcept;
    void write_whole(const StatePieces& pieces, std::uint8_t* out) const noexcept;

private:
    Bytes own_of(Bytes part, std::size_t sequence) const;
    std::uint8_t* put(std::uint8_t* out, Bytes part, bool counts) const noexcept;

    std::uint32_t sequences_ = 1;
    bool head_counts_ = false; // it has a number for each sequence
    bool tail_counts_ = false;
};

} // namespace sotto::llama
