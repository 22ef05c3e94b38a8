// The control thread: reads requests, schedules jobs and emits events. Other threads send messages to it.
#pragma once

#include <atomic>
#include <thread>

#include "base/mpsc_queue.hpp"
#include "core/control/control_loop.hpp"
#include "core/control/device_moves.hpp"
#include "core/control/world.hpp"

namespace sotto {

class Control {
public:
    explicit Control(const World& world);
    // Cancels all requests, frees the models and ends the threads.
    ~Control();

    // Sends a message to the control thread: a request was submitted or cancelled. Never blocks.
    void post(Note& note) noexcept;
    // Cancels the loads of models, as the engine is about to be destroyed.
    void give_up_loading() noexcept { loop_.give_up_loading(); }
    // Wakes the control thread, because the memory budget or a target rate of tokens has changed.
    void wake() noexcept { signal_.notify(); }
    // Evicts all models from the shared device, and waits
    // until they have left it. One thread at a time.
    void leave_device() noexcept { moves_.leave(); }
    // Called when a shared device is attached: idle models that can use it move to it.
    void use_device() noexcept { moves_.come(); }
    // Called when the target tokens per second of a request have changed.
    void retune() noexcept { loop_.retune(); }

private:
    void run();
    bool work();
    bool take_notes() noexcept;

    const Hooks& hooks_;
    Clock& clock_;
    RequestTable& table_;
    KvStateStore& kv_states_;
    Waker& waker_;
    Signal signal_;
    MpscQueue<Note> notes_;
    DeviceMoves moves_;
    std::atomic<bool> stopping_{false};
    ControlLoop loop_;
    std::thread thread_;
};

} // namespace sotto
