// The byte format of a stream's saved KV cache.
//
// In order: the number of tokens (4 bytes, with two flags), the key of the adapters if there are any (8
// bytes), the tokens (4 bytes each), the size of StatePieces::head (8 bytes), then all bytes of StatePieces.
// The format proves neither that the bytes are unchanged nor that they belong to this model. Code that stores
// states must check both, because llama.cpp does not validate the bytes.
#pragma once

#include "kv/state_form.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace sotto::llama {

// Contents of a saved state other than its cells.
struct StateHeader {
    std::vector<llama_token> tokens;
    std::uint64_t adapters = 0; // AdapterSet::key of the adapters that computed the cells; 0: none
    bool own = false;           // the cells depend on dropped tokens: only the saved stream may reuse them
};

// Writes a state and returns its hash. Throws Error(SOTTO_ERROR_MEMORY) if `write` fails.
std::uint64_t
write_state(const StateHeader& header, const StatePieces& pieces, sotto_write_fn write, void* context);

// `pieces` points into the bytes passed to read_state().
struct SavedState {
    StateHeader header;
    StatePieces pieces;
    std::uint64_t hash = 0;
};
// Parses a state. Throws Error(SOTTO_ERROR_MODEL) if the state is truncated, has no tokens, has more than
// `context` tokens, or has tokens outside of a vocabulary of `vocabulary` tokens.
SavedState read_state(std::string_view state, std::size_t context, llama_token vocabulary);

} // namespace sotto::llama
