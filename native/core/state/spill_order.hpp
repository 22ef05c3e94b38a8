// The order in which states in memory are packed and spilled.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "core/state/kv_state_entry.hpp"

namespace sotto {

// The entries that are in memory. Not for several threads at once: its store guards it, and the entries.
class SpillOrder {
public:
    // Throws std::bad_alloc; then remove() undoes what was done.
    void add(KvStateEntry& entry);
    // The entry is in memory no more. No effect if it was not.
    void remove(const KvStateEntry& entry) noexcept;
    void pin(KvStateEntry& entry, bool pinned) noexcept;

    // The oldest entry that is not being spilled, which is marked as being spilled from now on; null if there
    // is none. Pinned ones are last, and left out unless `pinned`.
    std::shared_ptr<KvStateEntry> next_to_spill(bool pinned) noexcept;
    // Removes the oldest entry that was not packed yet from those to be packed, and returns it; null if there
    // is none.
    std::shared_ptr<KvStateEntry> next_to_pack() noexcept;

    bool has_unpacked() const noexcept { return !unpacked_.empty(); }
    // Returns true if an entry is in memory that is not pinned.
    bool has_unpinned() const noexcept { return !in_memory_.empty() && !in_memory_.begin()->first.first; }

private:
    // What leaves memory first: pinned ones are last, before that the oldest.
    using Rank = std::pair<bool, std::uint64_t>;
    static Rank rank_of(const KvStateEntry& entry) noexcept { return {entry.pinned, entry.number}; }

    std::map<Rank, KvStateEntry*> in_memory_;
    std::map<std::uint64_t, KvStateEntry*> unpacked_; // of those, the oldest first
};

} // namespace sotto
