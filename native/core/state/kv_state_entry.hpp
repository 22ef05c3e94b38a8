// A saved KV cache state, in memory or in the spill file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/memory/ledger.hpp"
#include "core/state/spill.hpp"

namespace sotto {

// An entry lives until no owner can restore it and no other entry is packed (delta-compressed) against it.
// The mutex of the KvStateStore guards all members except `number`, `whose`, `head` and `whole`, which are
// constant.
struct KvStateEntry : std::enable_shared_from_this<KvStateEntry> {
    std::uint64_t number = 0;
    std::string whose;    // model id
    std::size_t head = 0; // offset of the bytes compared with other states; kApart: never packed
    SharedBytes bytes;    // null: in the spill file
    Ledger::Claim claim;
    Scratch::Extent extent;             // in the spill file
    std::shared_ptr<SpillWrite> late;   // timed-out write, which still holds the bytes
    std::uint64_t size = 0;             // bytes stored, after packing if the state is packed
    std::uint64_t whole = 0;            // size before packing, in bytes
    std::shared_ptr<KvStateEntry> like; // prefix for unpacking; null: not packed
    bool wanted = true;                 // an owner may still restore it
    bool pinned = false;
    bool moving = false; // a write to the spill file is running

    static constexpr std::size_t kApart = SIZE_MAX;
};

} // namespace sotto
