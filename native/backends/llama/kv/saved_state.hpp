// The byte format of a stream's saved KV cache.
//
// In order: number of tokens (4 bytes, with two flags), the key of the adapters if there are any (8), the
// tokens (4 each), the size of the head (8), then the pieces of llama.cpp's state. Nothing in the bytes
// proves that they are unchanged and of this model: whoever stores them checks that, because llama.cpp
// would read anything.
#pragma once

#include "kv/state_form.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace sotto::llama {

// Contents of a saved state other than the KV cells.
struct StateHeader {
    std::vector<llama_token> tokens;
    std::uint64_t adapters = 0; // key of the adapters that the cells were computed with; 0: none
    bool own = false;           // cells depend on dropped tokens: they serve only the stream that was saved
};

// Writes a state. Returns its hash. Throws Error(SOTTO_ERROR_MEMORY) if `write` fails.
std::uint64_t
write_state(const StateHeader& header, const StatePieces& pieces, sotto_write_fn write, void* context);

// `pieces` point into the text that was read.
struct SavedState {
    StateHeader header;
    StatePieces pieces;
    std::uint64_t hash = 0;
};
// Throws Error(SOTTO_ERROR_MODEL) if the state is truncated, or has no tokens, more than `context`, or any
// that are not in a vocabulary of `vocabulary` tokens.
SavedState read_state(std::string_view state, std::size_t context, llama_token vocabulary);

} // namespace sotto::llama
