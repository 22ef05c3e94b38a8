// Queue of requests that are being read, in the order in which they may continue.
#pragma once

#include <memory>
#include <vector>

#include "core/control/incoming.hpp"
#include "core/control/preparing.hpp"
#include "core/settings.hpp"
#include "platform/signal.hpp"

namespace sotto {

// Reads small requests immediately, large ones on preparing threads. A request may overtake an
// earlier one that is still being read, unless both may name the same session. Control thread only.
class IncomingRequests {
public:
    // `wake`: notified when the session names of a large request are known.
    IncomingRequests(PreparingThreads& threads, const Settings& settings, Signal& wake)
        : threads_(threads), settings_(settings), wake_(wake) {}

    bool is_empty() const noexcept { return requests_.empty(); }
    // Adds a new request. Returns it if it was read and may continue at once;
    // returns null if it stays queued, and then takes the body out of the
    // slot. Throws as read_request() does, before anything has changed.
    std::unique_ptr<Incoming> add(Slot& slot);
    // Starts reading queued requests on the preparing threads
    // that are free. Returns true if it started any.
    bool start_reading() noexcept;
    // Takes a request that may continue, because reading it has succeeded or failed.
    // If it was dropped, its slot is null. Returns null if no request may continue.
    std::unique_ptr<Incoming> take_done() noexcept;
    // Drops a request, and cancels reading it. drop() returns false if the request
    // is not queued; drop_oldest() returns null if no request is queued.
    bool drop(const Slot& slot) noexcept;
    Slot* drop_oldest() noexcept;

private:
    void read_aside(Incoming& request);
    static void read_here(PreparingTask& reading) noexcept;

    PreparingThreads& threads_;
    const Settings& settings_;
    Signal& wake_;
    std::vector<std::unique_ptr<Incoming>> requests_; // in order of arrival
};

} // namespace sotto
