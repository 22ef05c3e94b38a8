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
bool Control::doze(ModelEntry& entry) noexcept {
    if (!entry.resting.empty()) {
        while (!entry.resting.empty()) {
            let_go(entry, 0, true);
        }
        return true;
    }
    entry.state = ModelEntry::State::dozing;
    world_.registry.publish();
    hand_to_loader(entry);
    return true;
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
            continue;
        }
        if (entry->on_card == nullptr) {
            continue;
        }
        left = false;
        for (const auto& stream : streams_) {
            if (&stream->entry == entry.get() && stream->state != Stream::State::over) {
                fail(*stream, SOTTO_ERROR_CANCELLED, "the graphics card was detached; ask again");
                begun = true;
            }
        }
        begun = (is_idle(*entry) && doze(*entry)) || begun;
    }
    if (left) {
        leaves_card_ = false;
        left_card_.notify();
    }
    return begun;
}

// Whether anything was begun that brings a model to the card, now that it is idle.
bool Control::put_on_card() noexcept {
    if (!comes_to_card_.exchange(false) || world_.card.context() == nullptr) {
        return false;
    }
    bool begun = false;
    bool later = false;
    for (const auto& entry : world_.registry.entries()) {
        if (entry->with_loader) {
            later = true; // it may have begun before there was a card
            continue;
        }
        const bool could = entry->on_card == nullptr && entry->model != nullptr &&
                           entry->model->backend().uses(SOTTO_BACKEND_CUDA);
        later = later || (could && (!is_idle(*entry) || !entry->resting.empty()));
        begun = (could && is_idle(*entry) && doze(*entry)) || begun;
    }
    if (later) {
        comes_to_card_ = true;
    }
    return begun;
}

} // namespace sotto
