// What becomes of models when a card comes or goes: they fall asleep where they are, and come back where they
// belong when they are asked for. Sessions remember meanwhile.
#include "base/attempt.hpp"
#include "core/control/control.hpp"

namespace sotto {

// Frees a model that is idle, once the places are given up that it keeps; it comes back when it is asked for.
// `remembers`: what it remembers is kept.
bool Control::doze(ModelEntry& entry, bool remembers) noexcept {
    if (!entry.resting.empty()) {
        pins_.release_all(entry, remembers);
        return true;
    }
    entry.state = ModelEntry::State::dozing;
    entry.leaves = entry.bytes();
    world_.registry.publish();
    hand_to_loader(entry);
    return true;
}

// Whether that is the card that is shared.
bool Control::is_on_card(DeviceNumber device) const noexcept {
    return device != 0 && device == world_.card.shared();
}

// Whether a model that is ready has to leave what it is on.
bool Control::must_leave(const ModelEntry& entry) const noexcept {
    const auto device = entry.device.load();
    return world_.card.is_lost(device) || (moves_.is_leaving() && is_on_card(device));
}

// Ends what is under way on a model, and frees it once it is idle. Whether any of that was begun.
bool Control::take_off(ModelEntry& entry, sotto_status status, const char* why) noexcept {
    const bool lost = status == SOTTO_ERROR_DEVICE; // what it would remember is anything
    bool begun = false;
    for (const auto& stream : streams_.all()) {
        if (&stream->entry == &entry && stream->state != Stream::State::over) {
            fail(*stream, status, why);
            begun = true;
        }
    }
    for (auto& one : entry.closing) {
        if (lost) {
            one.session.reset();
        }
    }
    return (is_idle(entry) && doze(entry, !lost)) || begun;
}

// Whether anything was begun that takes a model off a device that was lost.
bool Control::take_off_lost() noexcept {
    bool begun = false;
    for (const auto& entry : world_.registry.entries()) {
        if (!entry->with_loader && world_.card.is_lost(entry->device.load())) {
            begun = take_off(*entry, SOTTO_ERROR_DEVICE, "the device was lost: submit the request again") ||
                    begun;
        }
    }
    return begun;
}

// Whether anything was begun that takes a model off the card.
bool Control::take_off_card() noexcept {
    if (!moves_.is_leaving()) {
        return false;
    }
    bool begun = false;
    bool left = true;
    for (const auto& entry : world_.registry.entries()) {
        if (!is_on_card(entry->device.load())) {
            continue; // nor will it be: see Card::seat()
        }
        left = false;
        if (!entry->with_loader) {
            begun = take_off(
                        *entry, SOTTO_ERROR_CANCELLED, "the device was detached: submit the request again"
                    ) ||
                    begun;
        }
    }
    if (left) {
        moves_.has_left();
    }
    return begun;
}

// Whether anything was begun that brings a model to the card, now that it is idle.
bool Control::put_on_card() noexcept {
    if (!moves_.take_come()) {
        return false;
    }
    bool begun = false;
    bool later = false;
    for (const auto& entry : world_.registry.entries()) {
        if (entry->with_loader) {
            later = true; // it may have begun before there was a card
            continue;
        }
        if (entry->model == nullptr || is_on_card(entry->device.load())) {
            continue;
        }
        bool could = false;
        const auto ask = [&] { could = world_.card.would_take(entry->asked.backend, entry->refused); };
        attempt(ask, [&](sotto_status, const char*) { later = true; });
        const bool free = is_idle(*entry) && entry->held.empty(); // else who asked first goes first
        later = later || (could && (!free || !entry->resting.empty()));
        begun = (could && free && doze(*entry, true)) || begun;
    }
    if (later) {
        moves_.come_later();
    }
    return begun;
}

} // namespace sotto
