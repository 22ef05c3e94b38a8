// Prepares requests with their backends on preparing threads, before their streams get slots.
#pragma once

#include <vector>

#include "core/control/preparing.hpp"
#include "core/control/stream.hpp"
#include "core/schedule/scheduler.hpp"
#include "core/settings.hpp"
#include "platform/clock.hpp"

namespace sotto {

// Control thread only.
class StreamPreparer {
public:
    // A stream whose preparation has ended, and its error if it failed.
    struct Done {
        Stream* stream = nullptr; // null: none
        Failure failure;
    };

    StreamPreparer(
        PreparingThreads& threads, Scheduler& scheduler, const Settings& settings, const Clock& clock
    )
        : threads_(threads), scheduler_(scheduler), settings_(settings), clock_(clock) {}

    // Called when there may be a stream to prepare, or a free thread.
    void retry() noexcept { may_start_ = true; }
    // Starts preparing streams while threads are free. Returns true if it started any.
    bool start() noexcept;
    // Removes and returns a stream whose preparation has ended. That stream is no longer `busy`.
    Done take_done() noexcept;

private:
    void prepare(Stream& stream);

    PreparingThreads& threads_;
    Scheduler& scheduler_;
    const Settings& settings_;
    const Clock& clock_;
    std::vector<Stream*> streams_; // being prepared
    bool may_start_ = false;
};

// Releases what a backend prepared for a stream that will
// not be opened. Cancels a preparation that is under way.
void discard_prepared(Stream& stream) noexcept;
// Returns the flags for opening or preparing a stream.
sotto_stream_flags stream_flags(const Settings& settings) noexcept;

} // namespace sotto
