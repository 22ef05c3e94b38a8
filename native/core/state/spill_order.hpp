// The order in which states in memory are packed and spilled.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "core/state/kv_state_entry.hpp"

namespace sotto {

// The entries in memory. Not thread-safe: the mutex of the KvStateStore guards the order and the entries.
class SpillOrder {
public:
    // Throws std::bad_alloc; then call remove() to undo a partial insertion.
    void add(KvStateEntry& entry);
    // Removes an entry that left memory. No effect if the order does not contain the entry.
    void remove(const KvStateEntry& entry) noexcept;
    void pin(KvStateEntry& entry, bool pinned) noexcept;

    // Returns the oldest entry that is not being spilled, and marks the entry as being spilled; null if
    // no entry is left. Returns pinned entries only if `pinned` is true, and after all unpinned entries.
    std::shared_ptr<KvStateEntry> next_to_spill(bool pinned) noexcept;
    // Removes the oldest entry from the packing queue and returns it; null if none.
    std::shared_ptr<KvStateEntry> next_to_pack() noexcept;

    bool has_unpacked() const noexcept { return !unpacked_.empty(); }
    // Returns true if an unpinned entry is in memory.
    bool has_unpinned() const noexcept { return !in_memory_.empty() && !in_memory_.begin()->first.first; }

private:
    // Spill order: unpinned before pinned entries, each from the oldest to the newest.
    using Rank = std::pair<bool, std::uint64_t>;
    static Rank rank_of(const KvStateEntry& entry) noexcept { return {entry.pinned, entry.number}; }

    std::map<Rank, KvStateEntry*> in_memory_;
    std::map<std::uint64_t, KvStateEntry*> unpacked_; // packing queue, oldest first
};

} // namespace sotto
