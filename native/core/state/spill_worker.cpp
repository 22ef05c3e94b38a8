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
    busy_ = true;
    makes_room_ = room > 0;
    Failure failure;
    attempt(
        [&] { thread_ = start_thread([this, thread_class, room] { work(thread_class, room); }); },
        [&](sotto_status status, const char* why) { failure.set(status, why); }
    );
    if (failure) {
        busy_ = makes_room_ = false;
        throw Error(failure.status, failure.why);
    }
}

void SpillWorker::work(ThreadClass thread_class, std::uint64_t room) noexcept {
    attempt(
        [&] { hooks_.thread_started("tidy"); }, [](sotto_status, const char*) {}
    ); // a failure only leaves the thread without a name
    // Only logs a failure: the next run tries again
    const auto failed = [&](sotto_status, const char* why) { hooks_.log.debug(why); };
    if (room > 0) {
        attempt([&] { kv_states_.spill(room); }, failed);
        makes_room_.store(false, std::memory_order_release);
        told_.notify();
    }
    if (thread_class == ThreadClass::idle) { // not before spill(): idle threads may get no core for seconds
        hooks_.outlives->has_yielding_threads = true;
        set_thread_class(thread_class);
    }
    attempt([&] { kv_states_.tidy(); }, failed);
    busy_.store(false, std::memory_order_release);
    told_.notify();
}

} // namespace sotto
