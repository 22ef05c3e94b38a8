#include "core/state/spill_order.hpp"

namespace sotto {

void SpillOrder::add(KvStateEntry& entry) {
    if (entry.head != KvStateEntry::kApart) {
        unpacked_.emplace(entry.number, &entry);
    }
    in_memory_.emplace(rank_of(entry), &entry);
}

void SpillOrder::remove(const KvStateEntry& entry) noexcept {
    in_memory_.erase(rank_of(entry));
    unpacked_.erase(entry.number);
}

void SpillOrder::pin(KvStateEntry& entry, bool pinned) noexcept {
    auto found = in_memory_.extract(rank_of(entry));
    entry.pinned = pinned;
    if (!found.empty()) {
        found.key() = rank_of(entry);
        in_memory_.insert(std::move(found));
    }
}

std::shared_ptr<KvStateEntry> SpillOrder::next_to_spill(bool pinned) noexcept {
    for (const auto& [rank, one] : in_memory_) {
        if (rank.first && !pinned) {
            break;
        }
        const bool stays = one->moving || (one->late != nullptr && !one->late->is_done());
        // The lock fails if the entry is being destroyed
        if (auto entry = stays ? nullptr : one->weak_from_this().lock()) {
            entry->moving = true;
            return entry;
        }
    }
    return nullptr;
}

std::shared_ptr<KvStateEntry> SpillOrder::next_to_pack() noexcept {
    while (!unpacked_.empty()) {
        auto entry = unpacked_.begin()->second->weak_from_this().lock();
        unpacked_.erase(unpacked_.begin());
        if (entry != nullptr) {
            return entry;
        }
    }
    return nullptr;
}

} // namespace sotto
