#include "core/control/slot_pins.hpp"

#include <algorithm>
#include <utility>

namespace sotto {
namespace {

// Returns the index of a session's slot in `entry.slots.pinned`; the
// size of that list if the session keeps no slot.
std::size_t slot_of(const ModelEntry& entry, const Session* session) noexcept {
    const auto found = std::ranges::find_if(entry.slots.pinned, [&](const PinnedSlot& one) {
        return session != nullptr && one.session.get() == session;
    });
    return static_cast<std::size_t>(found - entry.slots.pinned.begin());
}

void forget_slot(ModelEntry& entry, std::size_t index) noexcept {
    entry.slots.pinned.erase(entry.slots.pinned.begin() + static_cast<std::ptrdiff_t>(index));
}

} // namespace

bool SlotPins::keep(Stream& stream) noexcept {
    auto& entry = stream.entry;
    const auto& session = stream.session;
    const bool keeps = session != nullptr && session->pinned && entry.state == ModelEntry::State::ready &&
                       entry.traits.parks && !settings_.is(SOTTO_ENGINE_DETERMINISTIC) &&
                       entry.slots.pinned.size() + 1 < entry.traits.streams;
    if (!keeps || slot_of(entry, session.get()) < entry.slots.pinned.size()) {
        return false;
    }
    session->kept.reset(); // the slot still holds the KV cache
    entry.slots.pinned.push_back(
        {session, std::exchange(stream.handle, nullptr), stream.slot()}
    ); // capacity was reserved
    expect(entry, *session, true);
    return true;
}

void SlotPins::begin_turn(ModelEntry& entry, const Session& session) noexcept {
    for (const auto& other : registry_.entries()) {
        const auto index = slot_of(*other, &session);
        if (other.get() != &entry && index < other->slots.pinned.size()) {
            release(*other, index, false);
        }
    }
    expect(entry, session, slot_of(entry, &session) < entry.slots.pinned.size());
}

void SlotPins::hand_over(ModelEntry& entry, const Session* session, std::vector<Closing>& closing) noexcept {
    const auto index = slot_of(entry, session);
    if (index == entry.slots.pinned.size()) {
        return;
    }
    if (void* handle = entry.slots.pinned[index].handle) {
        closing.push_back({handle, nullptr, false, {}});
    } else {
        --entry.open_streams;
    }
    forget_slot(entry, index);
}

void SlotPins::release(ModelEntry& entry, std::size_t index, bool remembers) noexcept {
    auto one = std::move(entry.slots.pinned[index]);
    forget_slot(entry, index);
    expect(entry, *one.session, false);
    if (one.handle == nullptr) {
        --entry.open_streams;
        return;
    }
    const bool pinned = one.session->pinned;
    entry.slots.closing.push_back({one.handle, remembers ? std::move(one.session) : nullptr, pinned, {}});
}

void SlotPins::release_all(ModelEntry& entry, bool remembers) noexcept {
    while (!entry.slots.pinned.empty()) {
        release(entry, 0, remembers);
    }
}

void SlotPins::release_unpinned() noexcept {
    for (const auto& entry : registry_.entries()) {
        for (auto i = entry->slots.pinned.size(); i-- > 0;) {
            const auto& session = entry->slots.pinned[i].session;
            if (!session->pinned) {
                release(*entry, i, session.use_count() > 1); // 1: the session was closed
            }
        }
    }
}

void SlotPins::trim(ModelEntry& entry) noexcept {
    while (!entry.slots.pinned.empty() && entry.slots.pinned.size() >= entry.traits.streams) {
        release(entry, 0, true);
    }
}

void SlotPins::park(ModelEntry& entry, std::vector<Closing>& closing) {
    closing.reserve(entry.slots.pinned.size()); // nothing throws from here on
    for (auto& one : entry.slots.pinned) {
        if (one.handle != nullptr) {
            closing.push_back({std::exchange(one.handle, nullptr), one.session, true, {}});
            ++entry.open_streams; // the handle counts until the job closes it; the kept slot counts too
        }
    }
}

// Informs the scheduler whether a slot is kept for the waiting streams of a session.
void SlotPins::expect(const ModelEntry& entry, const Session& session, bool is_kept) noexcept {
    for (const auto& stream : streams_.all()) {
        if (&stream->entry == &entry && stream->session.get() == &session &&
            stream->state == Stream::State::waiting) {
            stream->expected = is_kept;
            scheduler_.changed(*stream);
        }
    }
}

} // namespace sotto
