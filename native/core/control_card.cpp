// What becomes of models when a card comes or goes: they fall asleep where they are, and come back where they
// belong when they are asked for. Sessions remember meanwhile.
#include "core/control.hpp"

namespace sotto {

void Control::leave_card() noexcept {
    leaves_card_ = true;
    wake();
    for (;;) {
        const auto seen = left_card_.value();
        if (!leaves_card_.load()) {
            return;
        }
        left_card_.wait(seen, -1);
    }
}

void Control::come_to_card() noexcept {
    comes_to_card_ = true;
    wake();
}

// Frees a model that is idle, once the places are given up that it keeps; it comes back when it is asked for.
// `remembers`: what it remembers is kept.
bool Control::doze(ModelEntry& entry, bool remembers) noexcept {
    if (!entry.resting.empty()) {
        while (!entry.resting.empty()) {
            let_go(entry, 0, remembers);
        }
        return true;
    }
    entry.state = ModelEntry::State::dozing;
    world_.registry.publish();
    hand_to_loader(entry);
    return true;
}

// Whether a model that is ready has to leave what it is on.
bool Control::must_leave(const ModelEntry& entry) const noexcept {
    return (world_.card.is_lost() && entry.on_device) || (leaves_card_.load() && entry.shares);
}

// Ends what is under way on a model, and frees it once it is idle. Whether any of that was begun.
bool Control::take_off(ModelEntry& entry, sotto_status status, const char* why) noexcept {
    const bool lost = status == SOTTO_ERROR_DEVICE; // what it would remember is anything
    bool begun = false;
    for (const auto& stream : streams_) {
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
    if (!world_.card.is_lost()) {
        return false;
    }
    bool begun = false;
    for (const auto& entry : world_.registry.entries()) {
        if (!entry->with_loader && entry->on_device) {
            begun = take_off(*entry, SOTTO_ERROR_DEVICE, "the graphics card was lost; ask again") || begun;
        }
    }
    return begun;
}

// Whether anything was begun that takes a model off the card.
bool Control::take_off_card() noexcept {
    if (!leaves_card_.load()) {
        return false;
    }
    bool begun = false;
    bool left = true;
    for (const auto& entry : world_.registry.entries()) {
        if (entry->with_loader) {
            left = false; // it may be on its way there
        } else if (entry->shares) {
            left = false;
            begun =
                take_off(*entry, SOTTO_ERROR_CANCELLED, "the graphics card was detached; ask again") || begun;
        }
    }
    if (left) {
        leaves_card_ = false;
        left_card_.notify();
    }
    return begun;
}

// Whether anything was begun that brings a model to the card, now that it is idle.
bool Control::put_on_card() noexcept {
    if (!comes_to_card_.exchange(false)) {
        return false;
    }
    const auto place = world_.card.place();
    const bool vulkan = place.context == nullptr && !place.device.empty();
    if (place.context == nullptr && !vulkan) {
        return false;
    }
    bool begun = false;
    bool later = false;
    for (const auto& entry : world_.registry.entries()) {
        if (entry->with_loader) {
            later = true; // it may have begun before there was a card
            continue;
        }
        const bool free = entry->asked.backend.empty(); // else it was asked for where it is
        const bool could = !entry->shares && entry->model != nullptr &&
                           (vulkan ? free : world_.card.draws(entry->model->backend()));
        later = later || (could && (!is_idle(*entry) || !entry->resting.empty()));
        begun = (could && is_idle(*entry) && doze(*entry, true)) || begun;
    }
    if (later) {
        comes_to_card_ = true;
    }
    return begun;
}

} // namespace sotto
