// The KV cache of a llama_context: cuts, shifts and copies the cells of its slots.
#pragma once

#include "kv/pages.hpp"
#include "kv/state_form.hpp"
#include "kv/token_sequence.hpp"

#include <functional>
#include <optional>

namespace sotto::llama {

// Returns true if the KV cache of the model keeps the cells of each token and can be cut anywhere: no sliding
// window, no recurrent state.
bool keeps_all(const llama_model* model);

class KvMemory {
public:
    explicit KvMemory(const llama_model* model);

    // Works on `context` from now on, which is empty. Null: on none, and only this function may be called.
    void attach(llama_context* context);
    bool keeps_all() const noexcept { return keeps_all_; }

    // Makes `slot` hold the first `keep` tokens of `tokens`, which it has at least, and no more. If it cannot
    // be cut there, as with recurrent states and sliding windows, it is emptied. Returns the tokens left.
    std::size_t cut(llama_seq_id slot, const TokenSequence& tokens, std::size_t keep);
    // Removes the positions from `begin` to `end` and moves the later ones down, with the next batch. Returns
    // false if the KV cache cannot be shifted.
    bool shift(llama_seq_id slot, llama_pos begin, llama_pos end);
    // Copies all cells of a slot at once. llama_memory_seq_cp() would copy empty cells too, and only with the
    // next batch. nullopt: `from` is empty, and `to` is unchanged. false: `to` may be damaged.
    std::optional<bool> copy(llama_seq_id from, llama_seq_id to);
    // Empties all slots, and overwrites their cells.
    void clear();

    // Passes the saved state of a slot to `use`, which must not keep it. Throws Error(SOTTO_ERROR_INFERENCE).
    void save(llama_seq_id slot, const std::function<void(const StatePieces&)>& use);
    // Returns false, and empties the slot, if llama.cpp cannot read the state.
    bool restore(llama_seq_id slot, const StatePieces& pieces);

private:
    llama_memory_t memory() const noexcept { return llama_get_memory(context_); }

    const bool keeps_all_;
    const llama_pos window_; // tokens of the sliding window; 0: none
    llama_context* context_ = nullptr;
    StateForm form_; // of the states of `context_`
};

} // namespace sotto::llama
