// Whether the host may still be called.
#pragma once

#include <atomic>
#include <cstdint>

namespace sotto {

// Any thread. An engine that is destroyed while the system keeps one of its threads from ending closes its
// gate: that thread calls nothing of the host's afterwards.
class HookGate {
public:
    // Lasts as long as a call into the host. False: the host must not be called any more.
    class Use {
    public:
        explicit Use(const HookGate* gate) noexcept : gate_(gate) {
            if (gate_ != nullptr && (gate_->state_.fetch_add(1, std::memory_order_acquire) & kClosed) != 0) {
                gate_->leave();
                gate_ = nullptr;
                open_ = false;
            }
        }
        ~Use() {
            if (gate_ != nullptr) {
                gate_->leave();
            }
        }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;
        explicit operator bool() const noexcept { return open_; }

    private:
        const HookGate* gate_; // null: there is nothing to leave
        bool open_ = true;
    };

    // No call begins after this. Waits for those under way.
    void close() noexcept {
        auto state = state_.fetch_or(kClosed, std::memory_order_acq_rel) | kClosed;
        for (; state != kClosed; state = state_.load(std::memory_order_acquire)) {
            state_.wait(state);
        }
    }

private:
    static constexpr std::uint32_t kClosed = 1U << 31;

    void leave() const noexcept {
        if ((state_.fetch_sub(1, std::memory_order_release) & kClosed) != 0) {
            state_.notify_all();
        }
    }

    mutable std::atomic<std::uint32_t> state_{0}; // closed | calls under way
};

} // namespace sotto
