// Decides whether host callbacks may still be called.
#pragma once

#include <atomic>
#include <cstdint>

namespace sotto {

// Any thread. Destroying an engine closes its gate if the operating system keeps one of the engine's threads
// from ending; after that, the thread makes no more host calls.
class HookGate {
public:
    // Hold a Use for the duration of a call into the host. Converts to false if the gate is closed: then do
    // not make the call.
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
        const HookGate* gate_; // null: the destructor does nothing
        bool open_ = true;
    };

    // Refuses new calls into the host and waits for the calls that are running.
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

    mutable std::atomic<std::uint32_t> state_{0}; // closed bit | number of running calls
};

} // namespace sotto
