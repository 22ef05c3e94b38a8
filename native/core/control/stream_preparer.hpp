// Has backends prepare requests ahead of their turn, on preparing threads.
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
    // A stream whose preparation has ended, and why it failed.
    struct Done {
        Stream* stream = nullptr; // null: no stream
        Failure failure;
    };

    StreamPreparer(
        PreparingThreads& threads, Scheduler& scheduler, const Settings& settings, const Clock& clock
    )
        : threads_(threads), scheduler_(scheduler), settings_(settings), clock_(clock) {}

    // Says that there may be a stream to prepare, or a thread that is free.
    void retry() noexcept { may_start_ = true; }
    // Starts to prepare the streams that may be prepared now. Returns true if it started any.
    bool start() noexcept;
    // Takes a stream whose preparation has ended: it is no longer `busy`.
    Done take_done() noexcept;

private:
    void prepare(Stream& stream);

    PreparingThreads& threads_;
    Scheduler& scheduler_;
    const Settings& settings_;
    const Clock& clock_;
    std::vector<Stream*> streams_; // that are being prepared
    bool may_start_ = false;
};

// Gives back what a backend prepared of a stream that will not be opened; has it end soon if it is under way.
void discard_prepared(Stream& stream) noexcept;
// How the backend is to open, or prepare, a stream.
sotto_stream_flags stream_flags(const Settings& settings) noexcept;

} // namespace sotto
