// A stream as the KV cache sees it: its tokens, its slot, and the stream whose prefill it waits for.
#pragma once

#include "kv/token_sequence.hpp"

namespace sotto::llama {

constexpr llama_seq_id kNoSlot = -1;

struct KvStream;

// Streams whose prompts have a common prefix prefill it once: one of them, the leader, does.
struct PrefixWait {
    KvStream* leader = nullptr;
    std::size_t count = 0; // tokens of the common prefix
    bool seeks = false;    // looks for another source of its prefix before its next prefill
};

struct KvStream {
    KvStream(TokenSequence sequence, std::uint64_t adapter_key, bool reuses)
        : tokens(std::move(sequence)), adapters(adapter_key), reuse(reuses) {}

    bool parked() const noexcept { return slot == kNoSlot; }

    TokenSequence tokens;
    const std::uint64_t adapters; // key of the adapters that its tokens are computed with
    const bool reuse;             // may use cells that other streams computed
    llama_seq_id slot = kNoSlot;
    PrefixWait wait;
    bool restored = false;   // some of its cells came from a state, and no output has proven them yet
    std::uint64_t moved = 0; // the batch, as KvCache counts them, that shifts its cells
    std::uint64_t saved = 0; // hash of the state that was last saved of it; 0: none
};

} // namespace sotto::llama
