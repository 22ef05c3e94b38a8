// The KV cache of a model: gives streams slots, and keeps what their slots hold in step with their tokens.
#pragma once

#include "kv/kv_memory.hpp"
#include "kv/shared_prefix.hpp"
#include "kv/slot_table.hpp"

#include <string_view>

namespace sotto::llama {

class KvCache {
public:
    // `max_slots`: the most that attach() will be called with. `max_tokens`: of one stream.
    KvCache(const llama_model* model, std::size_t max_slots, std::size_t max_tokens);

    // Throws Error(SOTTO_ERROR_STATE) if a stream has a slot.
    void require_idle() const;
    // Forgets the context and its slots, of which no stream has one.
    void detach();
    // Caches in `context`, which is empty and has `slots` slots. Null: there are no slots.
    void attach(llama_context* context, std::size_t slots);

    // Gives a stream a slot, and the longest prefix of its tokens that is cached. Throws
    // Error(SOTTO_ERROR_STATE) if all slots are in use.
    void open(KvStream& stream);
    // Frees the slot of a stream. Other streams may reuse what it caches.
    void close(KvStream& stream) noexcept;
    // The same, but the stream may come back for it.
    void park(KvStream& stream) noexcept;
    // Gives a parked stream a slot. Returns the tokens that are left to prefill. Throws as open().
    std::uint32_t unpark(KvStream& stream);

    // Returns true if the stream must wait for another one, which is about to compute a prefix of its prompt.
    // `prefills`: which streams the current step may prefill.
    bool waits(KvStream& stream, const Prefills& prefills);

    // Cuts the slot of a stream to the first `keep` tokens, or empties it.
    void cut(KvStream& stream, std::size_t keep);
    // Drops half of the tokens after the first `keep`, so that an answer can go on. If the cells cannot be
    // shifted, the kept tokens after them are prefilled again.
    void drop_middle(KvStream& stream, std::size_t keep);
    // A batch was computed.
    void batch_done() noexcept { ++batches_; }
    // Empties all slots; streams prefill again.
    void clear();

    // Writes the state of a stream, or reads one into a free slot. Both return its number of tokens.
    std::uint32_t save(KvStream& stream, sotto_write_fn write, void* context);
    std::uint32_t restore(std::string_view state);

private:
    void share_prefix(KvStream& stream, const Prefills& prefills);
    void copy_prefix(llama_seq_id source, KvStream& stream, std::size_t count);
    void require_saveable(const KvStream& stream) const;

    const std::size_t max_tokens_;
    const llama_token vocabulary_; // number of tokens
    SlotTable slots_;
    KvMemory memory_;
    std::uint64_t batches_ = 0; // computed so far
};

} // namespace sotto::llama
