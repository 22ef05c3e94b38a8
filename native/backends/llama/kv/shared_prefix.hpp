// Prefixes that the prompts of several streams have in common, which are computed once.
//
// A stream copies what another slot caches of its prompt. If two streams that prefill have a common prefix,
// one of them waits until the other, its leader, has computed it.
#pragma once

#include "kv/slot_table.hpp"

#include <functional>
#include <span>

namespace sotto::llama {

// Returns true if the current step may prefill the stream.
using Prefills = std::function<bool(const KvStream&)>;

struct SharedPrefix {
    llama_seq_id source = kNoSlot; // the slot to copy from; kNoSlot: none is worth it
    std::size_t count = 0;         // tokens to copy
    KvStream* leader = nullptr;    // the stream to wait for; null: none
    std::size_t led = 0;           // tokens that `leader` is about to hold in common
};

// Finds the longest prefix of the stream's prompt that another slot caches, and the stream that is about to
// compute the longest one: in the step of `prefills`, if that is not empty.
SharedPrefix
find_shared_prefix(std::span<const Slot> slots, const KvStream& stream, const Prefills& prefills);

// Returns true if a prefix of `count` tokens saves more than the `held` tokens do.
bool worth_copying(std::size_t count, std::size_t held) noexcept;

} // namespace sotto::llama
