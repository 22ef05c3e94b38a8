#include "core/control/control.hpp"

#include "platform/thread.hpp"

namespace sotto {

Control::Control(const World& world)
    : hooks_(world.hooks), clock_(world.clock), table_(world.table), kv_states_(world.kv_states),
      waker_(world.waker), moves_(signal_), loop_(world, moves_, signal_),
      thread_(start_thread([this] { run(); })) {}

Control::~Control() {
    stopping_ = true;
    wake();
    thread_.join();
    kv_states_.tell(nullptr);
    waker_.tell(nullptr);
}

void Control::post(Note& note) noexcept {
    notes_.push(&note);
    wake();
}

void Control::run() {
    hooks_.thread_started("control");
    kv_states_.tell(&signal_);
    waker_.tell(&signal_);
    for (;;) {
        const auto seen = signal_.value();
        if (work()) {
            continue;
        }
        if (loop_.has_ended()) {
            return;
        }
        clock_.wait(signal_, seen, loop_.next_wake());
    }
}

bool Control::work() {
    if (stopping_.load()) {
        loop_.leave();
    }
    return loop_.work(take_notes());
}

bool Control::take_notes() noexcept {
    bool any = false;
    while (Note* note = notes_.pop()) {
        any = true;
        Slot& slot = *note->slot;
        if (note->kind == Note::Kind::cancel) {
            loop_.cancel(slot);
            table_.release(slot);
        } else {
            loop_.submit(slot);
        }
    }
    return any;
}

} // namespace sotto
