// The KV cache of a model: assigns slots to streams and keeps the cells of each slot consistent
// with the stream's tokens.
#pragma once

#include "kv/kv_memory.hpp"
#include "kv/saved_state.hpp"
#include "kv/shared_prefix.hpp"
#include "kv/slot_table.hpp"

#include <string_view>

namespace sotto::llama {

class KvCache {
public:
    // `max_slots`: upper bound of `slots` in attach(). `max_tokens`: context size of one stream.
    // `has_projector`: states with images or sound can be restored.
    KvCache(const llama_model* model, std::size_t max_slots, std::size_t max_tokens, bool has_projector);

    // Throws Error(SOTTO_ERROR_STATE) if any stream has a slot.
    void require_idle() const;
    // Detaches from the context and discards all slots. No stream may have a slot.
    void detach();
    // Uses `context` as the KV cache. `context` must be empty and have `slots` sequences, or be null if
    // `slots` is 0.
    void attach(llama_context* context, std::size_t slots);

    // Assigns a slot to a stream and reuses the longest cached prefix of its tokens. Throws
    // Error(SOTTO_ERROR_STATE) if all slots are in use.
    void open(KvStream& stream);
    // Ends a stream and releases its slot, if any. Other streams may reuse the tokens that the slot caches.
    void close(KvStream& stream) noexcept;
    // Releases the slot of a stream, if any. The stream keeps its tokens and can be unparked later.
    void park(KvStream& stream) noexcept;
    // Assigns a slot to a parked stream. Returns the number of tokens left to prefill. Throws
    // Error(SOTTO_ERROR_STATE) if all slots are in use.
    std::uint32_t unpark(KvStream& stream);

    // Returns true if the stream must wait for another stream that is about to compute a prefix of
    // its prompt. `prefills` selects the streams that the current step may prefill.
    bool waits(KvStream& stream, const Prefills& prefills);

    // Cuts the slot of a stream to the first `keep` tokens.
    // Empties the slot if it cannot be cut there.
    void cut(KvStream& stream, std::size_t keep);
    // Drops half of the tokens after the first `keep`, so that decoding can continue in a full
    // context. If the KV cache cannot be shifted, the tokens behind the gap are prefilled again.
    void drop_middle(KvStream& stream, std::size_t keep);
    // Call after each computed batch.
    void batch_done() noexcept { ++batches_; }
    // Empties all slots; streams prefill their tokens again.
    void clear();

    // Passes the saved state of a stream to `write`. Returns the number of saved tokens. Throws Error, with
    // SOTTO_ERROR_STATE if the stream is parked, has no tokens in the KV cache, or has cells that the next
    // batch shifts.
    std::uint32_t save(KvStream& stream, sotto_write_fn write, void* context);
    // Slots by number. All but info_of() throw Error as SlotTable::free_slot() does.
    sotto_slot_info info_of(std::uint32_t slot) const;
    // Does what save() does for a free slot. Throws Error(SOTTO_ERROR_STATE) if the slot holds no tokens.
    std::uint32_t save_slot(std::uint32_t slot, sotto_write_fn write, void* context);
    // Does what restore() does into this slot.
    std::uint32_t restore_slot(std::uint32_t slot, std::string_view state);
    // Empties a slot. Returns the number of tokens that it held.
    std::uint32_t erase_slot(std::uint32_t slot);
    // Restores a saved state into a free slot, unless a free slot already caches the state. Returns the
    // number of tokens in the state. Throws Error if the state is invalid or all slots are in use.
    std::uint32_t restore(std::string_view state);

private:
    void share_prefix(KvStream& stream, const Prefills& prefills);
    void copy_prefix(llama_seq_id source, KvStream& stream, std::size_t count);
    void require_saveable(const KvStream& stream) const;
    SavedState checked(std::string_view state) const;
    std::uint32_t restore_into(llama_seq_id slot, SavedState state);

    const std::size_t max_tokens_;
    const llama_token vocabulary_; // number of tokens
    const bool has_projector_;
    SlotTable slots_;
    KvMemory memory_;
    std::uint64_t batches_ = 0; // number of computed batches
};

} // namespace sotto::llama
