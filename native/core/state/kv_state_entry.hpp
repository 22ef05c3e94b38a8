// A KV cache state that is kept: in memory, or in the spill file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "core/memory/ledger.hpp"
#include "core/state/spill.hpp"

namespace sotto {

// Lives until nothing needs it any more: neither those who may come back to it, nor states that are packed
// with it. Guarded by the mutex of its store, but for `number`, `whose`, `head` and `whole`, which stay.
struct KvStateEntry : std::enable_shared_from_this<KvStateEntry> {
    std::uint64_t number = 0;
    std::string whose;    // the model
    std::size_t head = 0; // where others may be the same; KvStateEntry::kApart: not to be packed
    SharedBytes bytes;    // null: in the file
    Ledger::Claim claim;
    Scratch::Extent extent;             // in the file
    std::shared_ptr<SpillWrite> late;   // that nothing waits for any more, but it has the bytes
    std::uint64_t size = 0;             // as it is kept
    std::uint64_t whole = 0;            // as it was put
    std::shared_ptr<KvStateEntry> like; // that it is packed with; null: it is whole
    bool wanted = true;                 // somebody may come back to it
    bool pinned = false;
    bool moving = false; // it is being written to the file

    static constexpr std::size_t kApart = SIZE_MAX;
};

} // namespace sotto
