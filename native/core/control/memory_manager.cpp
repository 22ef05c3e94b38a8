#include "core/control/memory_manager.hpp"

#include <algorithm>
#include <utility>

namespace sotto {
namespace {

// Returns how many slots a model with pinned sessions can lose while these sessions
// keep their slots, and one slot stays for others; 0 without pinned sessions.
std::uint32_t spare_of(const ModelEntry& entry) noexcept {
    const auto kept = static_cast<std::uint32_t>(entry.slots.pinned.size()) + 1;
    return entry.slots.pinned.empty() ? 0 : entry.traits.streams - std::min(entry.traits.streams, kept);
}

// Returns the bytes that must be free before a model can answer;
// 0: the model lacks no memory, or no request waits for the model.
std::uint64_t lack_of(const ModelEntry& entry) noexcept {
    const bool needs_slot =
        entry.state == ModelEntry::State::ready && entry.traits.streams == 0 && !entry.requests.held.empty();
    return needs_slot ? entry.loaded.first_slot_bytes() : entry.need.bytes;
}

} // namespace

bool MemoryManager::balance() {
    bool begun = false;
    for (const auto& entry : registry_.entries()) {
        begun = wake_or_admit(*entry) || begun;
    }
    const auto over = ledger_.over();
    for (const auto& entry : registry_.entries()) {
        const auto lack = lack_of(*entry);
        const bool in_vain = over > 0 || (lack > 0 && is_out_of_reach(lack, *entry));
        begun = (in_vain && admission_.refuse_impatient(*entry)) || begun;
    }
    if (over > 0) {
        return make_room(over, nullptr) || begun;
    }
    for (const auto& entry : registry_.entries()) {
        if (const auto lack = lack_of(*entry); lack > 0) {
            return (ledger_.free() >= lack && lack != UINT64_MAX ? go_on(*entry)
                                                                 : make_room(lack, entry.get())) ||
                   begun;
        }
    }
    for (const auto& entry : registry_.entries()) {
        if (resizer_.grow(*entry)) {
            return true;
        }
    }
    return begun;
}

// Starts loading an evicted model if requests wait for the model; admits the requests
// that were held for a ready model. Returns true if anything was started.
bool MemoryManager::wake_or_admit(ModelEntry& entry) {
    const bool wanted =
        !entry.requests.held.empty() || !entry.requests.waiting.empty() || !entry.adapters.changes.empty();
    if (entry.state != ModelEntry::State::evicted || !wanted) {
        return admission_.admit(entry);
    }
    entry.state = ModelEntry::State::loading;
    entry.loader.shrink_scope =
        std::exchange(entry.need.may_shrink, false) ? ShrinkScope::all : ShrinkScope::streams;
    models_.hand_to_loader(entry);
    registry_.publish();
    return true;
}

// Continues to load or resize a model, because the memory that it lacked is free.
bool MemoryManager::go_on(ModelEntry& entry) {
    if (entry.state == ModelEntry::State::ready) {
        return resizer_.refill(entry);
    }
    entry.need.bytes = 0;
    entry.loader.shrink_scope =
        std::exchange(entry.need.may_shrink, false) ? ShrinkScope::all : entry.loader.shrink_scope;
    models_.hand_to_loader(entry);
    return true;
}

// Returns true if memory is about to be freed, so that the set of idle models is not final.
bool MemoryManager::is_settling() const noexcept {
    const auto& entries = registry_.entries();
    return streams_.has_ended() || (!runner_.is_idle() && !is_step(*runner_.job())) ||
           std::any_of(entries.begin(), entries.end(), [](const auto& entry) {
               const bool goes =
                   entry->state == ModelEntry::State::evicting || entry->state == ModelEntry::State::leaving;
               return !entry->slots.closing.empty() || (entry->loader.owns && goes);
           });
}

// Returns true if evicting all idle models and spilling all parked KV cache would not free
// `bytes` for `model`. Returns false while memory is being freed, because the final amount is not known.
bool MemoryManager::is_out_of_reach(std::uint64_t bytes, const ModelEntry& model) const noexcept {
    return !is_settling() && (bytes == UINT64_MAX ||
                              ledger_.free() + idle_.bytes(&model) + ledger_.used(Use::spilled_kv) < bytes);
}

// If `model` is null, frees the `bytes` by which memory use exceeds the budget; otherwise
// frees memory until `bytes` are free for `model`. Returns true if anything was started.
bool MemoryManager::make_room(std::uint64_t bytes, ModelEntry* model) {
    if (is_settling()) {
        return false; // the final amount of free memory is not known yet
    }
    if (model != nullptr && is_out_of_reach(bytes, *model)) {
        return lacks_in_vain(*model);
    }
    const auto parked = ledger_.used(Use::spilled_kv); // 0 if not charged to this ledger
    if (parked > 0 && spiller_.can_make_room()) {      // otherwise a wait frees nothing
        spiller_.spill(model == nullptr ? bytes : bytes - std::min(bytes, ledger_.free()));
        return false;
    }
    if (!runner_.is_idle()) {
        runner_.hold_back(); // the queued step must wait until memory is freed
        return false;
    }
    ModelEntry* idle = idle_.least_recently_used(model);
    if ((idle == nullptr || !idle->slots.pinned.empty()) && model == nullptr &&
        shrink_largest(bytes, false)) {
        return true;
    }
    if (idle != nullptr) {
        return make_room_of(*idle);
    }
    return model == nullptr && shrink_largest(bytes, true);
}

bool MemoryManager::make_room_of(ModelEntry& idle) {
    if (has_slots(idle) && idle.model->can_resize() && idle.claims.kv.bytes() > 0) {
        return resizer_.resize(idle, spare_of(idle) > 0 ? idle.traits.streams - spare_of(idle) : 0);
    }
    models_.evict(idle, true);
    return true;
}

// Called if evicting idle models frees too little memory. If `model` was ready before and other models are
// busy, leaves `model` waiting and returns false; otherwise fails the requests for `model` and returns true.
bool MemoryManager::lacks_in_vain(ModelEntry& model) {
    const auto& entries = registry_.entries();
    const bool others = std::any_of(entries.begin(), entries.end(), [&](const auto& entry) {
        return entry.get() != &model && (is_in_use(*entry) || entry->loader.owns);
    });
    if (others && !model.is_new()) {
        return false;
    }
    models_.refuse(model, SOTTO_ERROR_BUDGET, admission_.reason(model));
    return true;
}

// Takes slots from the busy model with the largest KV cache, to free `bytes`.
// `all`: also slots of pinned sessions. Returns true if anything was started.
bool MemoryManager::shrink_largest(std::uint64_t bytes, bool all) {
    ModelEntry* most = nullptr;
    const auto most_of = [&](const ModelEntry& entry) {
        return all || entry.slots.pinned.empty() ? entry.traits.streams - 1 : spare_of(entry);
    };
    for (const auto& entry : registry_.entries()) {
        const bool can =
            has_slots(*entry) && most_of(*entry) > 0 && entry->model->can_resize() && !entry->loader.owns;
        if (can && (most == nullptr || entry->claims.kv.bytes() > most->claims.kv.bytes())) {
            most = entry.get();
        }
    }
    if (most == nullptr) {
        return false; // no memory is freed until a busy model becomes idle
    }
    const auto fewer = std::min<std::uint64_t>(
        (bytes + most->loaded.kv_per_slot - 1) / most->loaded.kv_per_slot, most_of(*most)
    );
    return resizer_.resize(*most, most->traits.streams - static_cast<std::uint32_t>(fewer));
}

} // namespace sotto
