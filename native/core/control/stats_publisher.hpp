// Collects the engine's statistics, and publishes them.
#pragma once

#include <cstdint>

#include "core/model/registry.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/telemetry/meter.hpp"
#include "core/telemetry/recorder.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Control thread only.
class StatsPublisher {
public:
    StatsPublisher(const Clock& clock, Meter& meter, Recorder& recorder)
        : clock_(clock), meter_(meter), recorder_(recorder) {}

    // Called after each iteration of the control thread's loop. `worked`: the iteration changed
    // something, so that another iteration follows. Returns true if something changed since the
    // last publish(), and either that call was 50 ms ago or the thread is about to sleep.
    bool is_due(bool worked) noexcept;
    // Publishes the statistics, and flushes the recording.
    // `share`: the share of the time that models get.
    void publish(const Scheduler& scheduler, const Registry& registry, double share) noexcept;

private:
    const Clock& clock_;
    Meter& meter_;
    Recorder& recorder_;
    std::int64_t published_at_ = 0;
    bool changed_ = false; // since the last publish()
};

} // namespace sotto
