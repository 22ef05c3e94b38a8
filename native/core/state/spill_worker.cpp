#include "core/state/spill_worker.hpp"

#include "base/attempt.hpp"
#include "base/error.hpp"
#include "platform/thread.hpp"

namespace sotto {

SpillWorker::~SpillWorker() {
    kv_states_.stop_tidying();
    if (thread_.joinable()) {
        thread_.join();
    }
}

void SpillWorker::begin(ThreadClass thread_class, std::uint64_t room) {
    if (thread_.joinable()) {
        thread_.join(); // returns soon: the previous run has ended
    }
    ended_ = false;
    makes_room_ = room > 0;
    thread_ = start_thread([this, thread_class, room] { work(thread_class, room); });
}

void SpillWorker::work(ThreadClass thread_class, std::uint64_t room) noexcept {
    hooks_.thread_started("tidy");
    const auto body = [&] {
        if (room > 0) {
            kv_states_.spill(room);
            makes_room_.store(false, std::memory_order_release);
            told_.notify();
        }
        if (thread_class ==
            ThreadClass::idle) { // not before spill(): idle threads may get no core for seconds
            hooks_.outlives->has_yielding_threads = true;
            set_thread_class(thread_class);
        }
        kv_states_.tidy();
    };
    // Only logs a failure: the next run tries again
    attempt(body, [&](sotto_status, const char* why) { hooks_.log.debug(why); });
    ended_.store(true, std::memory_order_release);
    told_.notify();
}

} // namespace sotto
