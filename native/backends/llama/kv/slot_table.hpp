// Which stream has which slot of the KV cache, and what a free slot still caches.
#pragma once

#include "kv/kv_stream.hpp"

#include <cstddef>
#include <cstdint>
#include <llama.h>
#include <span>
#include <string_view>
#include <vector>

namespace sotto::llama {

// One sequence of llama.cpp's KV cache. While a stream has it, only `stream` is valid.
struct Slot {
    std::vector<llama_token> tokens;
    std::uint64_t adapters = 0;   // key of the adapters that the tokens were computed with
    std::size_t exact = SIZE_MAX; // as TokenSequence::exact()
    KvStream* stream = nullptr;
    const KvStream* parked = nullptr; // whose tokens they are, if that stream is parked
    std::uint64_t state = 0;          // hash of the saved state that it holds; 0: none
    bool restored = false;            // as KvStream::restored
    std::uint64_t last_used = 0;
};

// Bookkeeping only: never calls llama.cpp.
class SlotTable {
public:
    // `capacity`: the most slots that resize() will be called with, which then cannot fail. `keeps_all`: the
    // KV cache can be cut anywhere.
    SlotTable(std::size_t capacity, bool keeps_all);

    // Discards all slots and makes `count` empty ones, at most `capacity`. No stream may have one.
    void resize(std::size_t count) noexcept;
    std::span<const Slot> slots() const noexcept { return slots_; }
    std::size_t in_use() const noexcept;

    // A free slot, and how many of the first tokens of a stream it caches.
    struct Match {
        llama_seq_id slot = kNoSlot;
        std::size_t common = 0;
    };
    // Chooses a free slot for `stream`, by longest cached prefix, then LRU, and gives it to that stream. The
    // cells beyond the match are still in the KV cache. Throws Error(SOTTO_ERROR_STATE) if all are in use.
    Match assign(KvStream& stream);
    // Frees the slot of `stream`, which goes on caching the stream's tokens. `comes_back`: the stream is
    // parked and keeps its tokens; else they are moved out of it.
    void release(KvStream& stream, bool comes_back) noexcept;
    // Stops holding cached tokens for a parked stream.
    void forget_parked(const KvStream& stream) noexcept;

    // Chooses a free slot for a saved state of these tokens, and empties it. Throws as assign().
    llama_seq_id take_for_state(const std::vector<llama_token>& tokens, std::uint64_t adapters);
    // What restoring a state put into a free slot.
    struct RestoredState {
        std::vector<llama_token> tokens;
        std::uint64_t adapters = 0;
        std::size_t exact = SIZE_MAX;
        std::uint64_t hash = 0;
    };
    void put_state(llama_seq_id slot, RestoredState state) noexcept;
    // Returns true if a free slot caches the state with this hash, of `count` tokens. The slot then serves
    // also the stream that the state was saved of.
    bool has_state(std::uint64_t hash, std::size_t count) noexcept;

    // Forgets all cached tokens. Streams keep their slots, and hold no tokens.
    void clear_contents() noexcept;

private:
    Slot& at(llama_seq_id slot) noexcept { return slots_[static_cast<std::size_t>(slot)]; }
    Match best_match(
        const std::vector<llama_token>& tokens, std::uint64_t adapters, bool reuse, const KvStream* owner
    ) const;
    std::uint64_t distance(std::size_t slot, std::uint64_t adapters) const noexcept;

    std::vector<Slot> slots_;
    std::uint64_t clock_ = 0; // of Slot::last_used
    const bool keeps_all_;
};

} // namespace sotto::llama
