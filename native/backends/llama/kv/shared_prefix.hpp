// Finds prefixes that the prompts of several streams share, so that each prefix is computed only once.
//
// A stream copies the longest prefix of its prompt that another slot caches. If two prefilling
// streams share a prefix, one of them waits until the other, its leader, has computed it.
#pragma once

#include "kv/slot_table.hpp"

#include <functional>
#include <span>

namespace sotto::llama {

// Returns true if the current step may prefill the stream.
using Prefills = std::function<bool(const KvStream&)>;

struct SharedPrefix {
    llama_seq_id source = kNoSlot; // slot to copy from; kNoSlot: no prefix is worth copying
    std::size_t count = 0;         // tokens to copy
    KvStream* leader = nullptr;    // stream to wait for; null: none
    std::size_t led = 0;           // length of the shared prefix that `leader` is about to compute
};

// Finds the longest prefix of the stream's prompt that another slot caches, and the stream that is about to
// compute the longest one. If `prefills` is not empty, the second result is limited to streams for which
// `prefills` returns true.
SharedPrefix
find_shared_prefix(std::span<const Slot> slots, const KvStream& stream, const Prefills& prefills);

// Returns true if a prefix of `count` tokens is worth
// copying for a stream that holds `held` tokens.
bool worth_copying(std::size_t count, std::size_t held) noexcept;

} // namespace sotto::llama
