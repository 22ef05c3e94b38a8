// Assigns KV cache slots to streams, and records the tokens that free slots still cache.
#pragma once

#include "kv/kv_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <llama.h>
#include <span>
#include <string_view>
#include <vector>

namespace sotto::llama {

// One sequence of llama.cpp's KV cache. While a stream has the slot, only `stream` is valid.
struct Slot {
    std::vector<llama_token> tokens;
    std::uint64_t adapters = 0;   // AdapterSet::key of the adapters that computed the cells
    std::size_t exact = SIZE_MAX; // see TokenSequence::exact()
    KvStream* stream = nullptr;
    const KvStream* parked = nullptr; // parked stream that the tokens belong to; null: none
    std::uint64_t state = 0;          // hash of the saved state that the slot caches; 0: none
    bool restored = false;            // see KvStream::restored
    std::uint64_t moved = 0;          // see KvStream::moved
    std::uint64_t last_used = 0;
};

// Bookkeeping only: never calls llama.cpp.
class SlotTable {
public:
    // `capacity`: upper bound of `count` in resize(), which therefore cannot fail. `keeps_all`: the
    // KV cache can be cut at any token.
    SlotTable(std::size_t capacity, bool keeps_all);

    // Discards all slots and creates `count` empty ones, at
    // most `capacity`. No stream may have a slot.
    void resize(std::size_t count) noexcept;
    std::span<const Slot> slots() const noexcept { return slots_; }
    std::size_t in_use() const noexcept;

    // A free slot, and the number of the stream's first tokens that it caches.
    struct Match {
        llama_seq_id slot = kNoSlot;
        std::size_t common = 0;
    };
    // Assigns a free slot to `stream`, by longest cached prefix, then LRU. The cells beyond the
    // match stay in the KV cache. A stream with KvStream::wanted gets that slot. Throws
    // Error(SOTTO_ERROR_STATE) if all slots are in use, and as free_slot() does for `wanted`.
    Match assign(KvStream& stream);
    // Releases the slot of `stream`. The slot still caches the stream's tokens. `comes_back`: the stream is
    // parked and keeps a copy of its tokens; otherwise the tokens are moved out of the stream.
    void release(KvStream& stream, bool comes_back) noexcept;
    // Stops reserving cached tokens for a parked stream.
    void forget_parked(const KvStream& stream) noexcept;

    // Returns a free slot by its number. Throws Error, with SOTTO_ERROR_ARGUMENT if there is no such slot, or
    // SOTTO_ERROR_BUSY if a stream has the slot.
    const Slot& free_slot(std::uint32_t slot) const;
    // Discards the cached tokens of a free slot.
    void empty(llama_seq_id slot) noexcept { at(slot) = {}; }
    bool is_free(llama_seq_id slot) const noexcept {
        const auto index = static_cast<std::size_t>(slot);
        return index < slots_.size() && slots_[index].stream == nullptr;
    }

    // Chooses a free slot for a saved state with these tokens, and empties the slot. Throws
    // Error(SOTTO_ERROR_STATE) if all slots are in use.
    llama_seq_id take_for_state(const std::vector<llama_token>& tokens, std::uint64_t adapters);
    // The contents of a slot after a saved state was restored into it.
    struct RestoredState {
        std::vector<llama_token> tokens;
        std::uint64_t adapters = 0;
        std::size_t exact = SIZE_MAX;
        std::uint64_t hash = 0;
    };
    void put_state(llama_seq_id slot, RestoredState state) noexcept;
    // Returns true if a free slot caches the state with this hash and `count` tokens. The stream
    // that saved the state may then reuse that slot.
    bool has_state(std::uint64_t hash, std::size_t count) noexcept;

    // Discards all cached tokens. Streams keep their slots and hold 0 tokens.
    void clear_contents() noexcept;

private:
    Slot& at(llama_seq_id slot) noexcept { return slots_[static_cast<std::size_t>(slot)]; }
    Match best_match(
        const std::vector<llama_token>& tokens, std::uint64_t adapters, bool reuse, const KvStream* owner
    ) const;
    std::size_t cached(
        const Slot& slot,
        const std::vector<llama_token>& tokens,
        std::uint64_t adapters,
        bool reuse,
        const KvStream* owner
    ) const;
    std::uint64_t distance(std::size_t slot, std::uint64_t adapters) const noexcept;

    std::vector<Slot> slots_;
    std::uint64_t clock_ = 0; // last value of Slot::last_used
    const bool keeps_all_;
};

} // namespace sotto::llama
