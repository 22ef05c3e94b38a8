// The streams of running requests, with the objects that schedule, pin and prepare them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "core/control/preparing.hpp"
#include "core/control/slot_pins.hpp"
#include "core/control/slot_waits.hpp"
#include "core/control/state_fetches.hpp"
#include "core/control/stream_preparer.hpp"
#include "core/control/stream_table.hpp"
#include "core/control/stream_waits.hpp"
#include "core/control/world.hpp"
#include "core/schedule/scheduler.hpp"

namespace sotto {

// Control thread only, except retune().
class ActiveStreams {
public:
    // `wake`: notified after each task of the preparing threads.
    ActiveStreams(const World& world, Signal& wake);

    bool is_empty() const noexcept { return table_.is_empty(); }
    // Adds the streams of a request to the table and the scheduler. table() must have
    // capacity for the streams. If add() throws, no reference to the streams is kept.
    void add(std::vector<std::unique_ptr<Stream>> streams);
    // Frees streams that have ended, once no job uses them.
    void sweep() noexcept;

    // Called when the target tokens per second of a request have changed, so that
    // take_paces() applies the new target. Any thread.
    void retune() noexcept { retuned_ = true; }
    // Applies the changed target tokens per second to the streams.
    void take_paces() noexcept;

    StreamTable& table() noexcept { return table_; }
    Scheduler& scheduler() noexcept { return scheduler_; }
    SlotPins& pins() noexcept { return pins_; }
    PreparingThreads& threads() noexcept { return threads_; }
    StreamPreparer& preparer() noexcept { return preparer_; }
    StateFetches& fetches() noexcept { return fetches_; }
    SlotWaits& slot_waits() noexcept { return slot_waits_; }
    StreamWaits& waits() noexcept { return waits_; }

private:
    Recorder& recorder_;
    Scheduler scheduler_;
    StreamTable table_;
    SlotPins pins_;
    PreparingThreads threads_;
    StreamPreparer preparer_;
    StateFetches fetches_;
    SlotWaits slot_waits_;
    StreamWaits waits_;
    std::atomic<bool> retuned_{false};
};

} // namespace sotto
