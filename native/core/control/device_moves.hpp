// Models that are to leave the shared device, or may come to it.
#pragma once

#include <atomic>

#include "platform/signal.hpp"

namespace sotto {

// Any thread asks for a move, the control thread carries it out.
class DeviceMoves {
public:
    // `wake` is notified when a move is asked for.
    explicit DeviceMoves(Signal& wake) : wake_(wake) {}

    // Has every model leave the device, and waits until they have. One thread at a time.
    void leave() noexcept {
        leaves_ = true;
        wake_.notify();
        for (;;) {
            const auto seen = left_.value();
            if (!leaves_.load()) {
                return;
            }
            left_.wait(seen, -1);
        }
    }
    // Says that there is a device for models that could use one.
    void come() noexcept {
        comes_ = true;
        wake_.notify();
    }

    // The control thread's:
    bool is_leaving() const noexcept { return leaves_.load(); }
    // Says that no model is on the device any more.
    void has_left() noexcept {
        leaves_ = false;
        left_.notify();
    }
    // Returns true if models may have come since the last call.
    bool take_come() noexcept { return comes_.exchange(false); }
    // Has take_come() return true again.
    void come_later() noexcept { comes_ = true; }

private:
    Signal& wake_;
    Signal left_;
    std::atomic<bool> leaves_{false};
    std::atomic<bool> comes_{false};
};

} // namespace sotto
