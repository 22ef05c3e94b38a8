// The KV cache of a llama_context: cuts, shifts, copies, saves and restores the cells of its slots.
#pragma once

#include "kv/pages.hpp"
#include "kv/state_form.hpp"
#include "kv/token_sequence.hpp"

#include <functional>
#include <optional>

namespace sotto::llama {

// Returns true if the model's KV cache keeps the cells of every token and can be cut at any token:
// no sliding window, no recurrent state.
bool keeps_all(const llama_model* model);

class KvMemory {
public:
    explicit KvMemory(const llama_model* model);

    // Uses `context` from now on. `context` must be empty, or null: then only attach() may be called.
    void attach(llama_context* context);
    bool keeps_all() const noexcept { return keeps_all_; }

    // Cuts `slot` to the first `keep` tokens of `tokens`. The slot must hold these tokens. Empties the slot
    // if the KV cache cannot be cut after them, for example because of a recurrent state or a sliding window.
    // Returns the number of tokens left.
    std::size_t cut(llama_seq_id slot, const TokenSequence& tokens, std::size_t keep);
    // Empties a slot.
    void erase(llama_seq_id slot) { llama_memory_seq_rm(memory(), slot, -1, -1); }
    // Removes the cells of a slot at positions [begin, end). The next batch shifts the cells at later
    // positions down. Returns false if the KV cache cannot be shifted.
    bool shift(llama_seq_id slot, llama_pos begin, llama_pos end);
    // Copies all cells of slot `from` to slot `to` at once. llama_memory_seq_cp() would also copy empty
    // cells, and would copy only with the next batch. Returns nullopt if `from` is empty; `to` is unchanged
    // then. Returns false if llama.cpp cannot read the copy; `to` may be damaged then.
    std::optional<bool> copy(llama_seq_id from, llama_seq_id to);
    // Empties all slots and overwrites their cells.
    void clear();

    // Passes the saved state of a slot to `use`, which must not keep references to it. Throws
    // Error(SOTTO_ERROR_INFERENCE) if llama.cpp cannot save the slot.
    void save(llama_seq_id slot, const std::function<void(const StatePieces&)>& use);
    // Restores a saved state into a slot. Returns false and
    // empties the slot if llama.cpp cannot read the state.
    bool restore(llama_seq_id slot, const StatePieces& pieces);

private:
    llama_memory_t memory() const noexcept { return llama_get_memory(context_); }

    const bool keeps_all_;
    const llama_pos window_; // size of the sliding window in tokens; 0: none
    llama_context* context_ = nullptr;
    StateForm form_; // layout of the states of `context_`
};

} // namespace sotto::llama
