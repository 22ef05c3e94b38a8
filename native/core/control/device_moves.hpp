// Requests to move models off the shared device, or onto it.
#pragma once

#include <atomic>

#include "platform/signal.hpp"

namespace sotto {

// Any thread requests a move; the control thread executes it.
class DeviceMoves {
public:
    // `wake`: notified when a move is requested.
    explicit DeviceMoves(Signal& wake) : wake_(wake) {}

    // Requests that all models leave the device, and
    // waits until they have left. One thread at a time.
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
    // Reports that a shared device was attached, to which idle models can move.
    void come() noexcept {
        comes_ = true;
        wake_.notify();
    }

    // Control thread only:
    bool is_leaving() const noexcept { return leaves_.load(); }
    // Called when no model is on the device any more.
    void has_left() noexcept {
        leaves_ = false;
        left_.notify();
    }
    // Returns true if come() or come_later() was called since the last call.
    bool take_come() noexcept { return comes_.exchange(false); }
    // Makes the next take_come() return true.
    void come_later() noexcept { comes_ = true; }

private:
    Signal& wake_;
    Signal left_;
    std::atomic<bool> leaves_{false};
    std::atomic<bool> comes_{false};
};

} // namespace sotto
