#include "core/control/idle_models.hpp"

#include <tuple>

namespace sotto {

bool has_slots(const ModelEntry& entry) noexcept {
    return entry.state == ModelEntry::State::ready && entry.traits.streams > 0;
}

bool is_in_use(const ModelEntry& entry) noexcept {
    return entry.open_streams > entry.slots.pinned.size() || entry.requests.streams > 0 ||
           !entry.adapters.changes.empty();
}

bool IdleModels::is_idle(const ModelEntry& entry) const noexcept {
    return entry.state == ModelEntry::State::ready && !entry.loader.owns && entry.slots.closing.empty() &&
           !is_in_use(entry) && !runner_.runs(entry);
}

bool IdleModels::may_be_freed(const ModelEntry& entry) const noexcept {
    return entry.open_streams == 0 && !runner_.runs(entry) && entry.requests.preparing == 0 &&
           !entry.loader.owns;
}

std::uint64_t IdleModels::bytes(const ModelEntry* except) const noexcept {
    std::uint64_t bytes = 0;
    for (const auto& entry : registry_.entries()) {
        bytes += entry.get() != except && is_idle(*entry) ? entry->bytes() : 0;
    }
    return bytes;
}

ModelEntry* IdleModels::least_recently_used(const ModelEntry* except) const noexcept {
    ModelEntry* found = nullptr;
    const auto key = [](const ModelEntry& entry) {
        const bool empty = !has_slots(entry) || !entry.model->can_resize();
        return std::tuple(!entry.slots.pinned.empty(), empty, entry.requests.used_at);
    };
    for (const auto& entry : registry_.entries()) {
        if (entry.get() != except && is_idle(*entry) && (found == nullptr || key(*entry) < key(*found))) {
            found = entry.get();
        }
    }
    return found;
}

} // namespace sotto
