// Parses the bodies of new requests, and keeps requests for the same session in order.
#pragma once

#include <memory>
#include <vector>

#include "core/control/incoming.hpp"
#include "core/control/preparing.hpp"
#include "core/settings.hpp"
#include "platform/signal.hpp"

namespace sotto {

// Reads small requests immediately, large ones on preparing threads. A request may overtake an
// earlier one that is still being read or checked, unless both may name the same session. Control thread
// only.
class IncomingRequests {
public:
    // `wake`: notified when the session names of a large request are known.
    IncomingRequests(PreparingThreads& threads, const Settings& settings, GuardChecks& checks, Signal& wake)
        : threads_(threads), settings_(settings), checks_(checks), wake_(wake) {}

    bool is_empty() const noexcept { return requests_.empty(); }
    // Adds a new request. Returns the request if it was read and may continue at once. Otherwise
    // queues the request, moves the body out of the slot, and returns null. Throws Error if a small
    // request is invalid; then nothing has changed.
    std::unique_ptr<Incoming> add(Slot& slot);
    // Starts reading queued requests on the preparing threads
    // that are free. Returns true if it started any.
    bool start_reading() noexcept;
    // Starts checks, by models, of requests that were read. Returns true if it started any.
    bool start_checking() noexcept;
    // Removes and returns a request that may continue, because reading it has succeeded or failed.
    // The slot of a dropped request is null. Returns null if no request may continue.
    std::unique_ptr<Incoming> take_done() noexcept;
    // Drop a request, and cancel reading it. drop() returns false if the request is not queued;
    // drop_oldest() returns the slot of the oldest request, or null if no request is queued.
    bool drop(const Slot& slot) noexcept;
    Slot* drop_oldest() noexcept;

private:
    void check(Incoming& request);
    void read_aside(Incoming& request);
    static void read_here(PreparingTask& reading) noexcept;

    PreparingThreads& threads_;
    const Settings& settings_;
    GuardChecks& checks_;
    Signal& wake_;
    std::vector<std::unique_ptr<Incoming>> requests_; // in order of arrival
};

} // namespace sotto
