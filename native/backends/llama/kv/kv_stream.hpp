// The KV cache data of a stream: its tokens, its slot, and the stream, if any, that computes a shared prefix
// for it.
#pragma once

#include "kv/token_sequence.hpp"

namespace sotto::llama {

constexpr llama_seq_id kNoSlot = -1;

struct KvStream;

// A prefix that several prompts share is prefilled once, by one of their streams: the leader. The
// other streams wait until the leader has computed it.
struct PrefixWait {
    KvStream* leader = nullptr; // null: the stream does not wait
    std::size_t count = 0;      // tokens of the shared prefix
    bool seeks = false;         // the stream must look for another source of the prefix first
};

struct KvStream {
    KvStream(TokenSequence sequence, std::uint64_t adapter_key, bool reuses)
        : tokens(std::move(sequence)), adapters(adapter_key), reuse(reuses) {}

    bool parked() const noexcept { return slot == kNoSlot; }

    TokenSequence tokens;
    const std::uint64_t adapters; // AdapterSet::key of the adapters that compute its cells
    const bool reuse;             // may reuse cells that other streams computed
    llama_seq_id slot = kNoSlot;
    llama_seq_id wanted = kNoSlot; // slot that the stream must have when it is opened; kNoSlot: any
    PrefixWait wait;
    bool restored = false;   // has cells of a saved state; no valid logits came from them yet
    std::uint64_t moved = 0; // number of the batch that shifts its cells, as counted by KvCache
    std::uint64_t saved = 0; // hash of its last saved state; 0: none
};

} // namespace sotto::llama
