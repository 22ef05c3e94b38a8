// Requests that are read, in the order in which they may go on.
#pragma once

#include <memory>
#include <vector>

#include "core/control/incoming.hpp"
#include "core/control/preparing.hpp"
#include "core/settings.hpp"
#include "platform/signal.hpp"

namespace sotto {

// Control thread only. Small requests are read at once, large ones on preparing threads. A request
// goes on before an earlier one that is still being read, unless both may name one session.
class IncomingRequests {
public:
    // `wake` is notified when a large request's session names are known.
    IncomingRequests(PreparingThreads& threads, const Settings& settings, Signal& wake)
        : threads_(threads), settings_(settings), wake_(wake) {}

    bool is_empty() const noexcept { return requests_.empty(); }
    // Takes a new request. Returns it if it was read and goes on at once; null if it stays here, with the
    // slot's body. Throws as read_request() does, before anything is kept.
    std::unique_ptr<Incoming> add(Slot& slot);
    // Starts to read requests, as far as there are threads. Returns true if it started any.
    bool start_reading() noexcept;
    // Takes a request that was read, or failed to be, and may go on; one that was dropped has no slot.
    // Returns null if there is none.
    std::unique_ptr<Incoming> take_done() noexcept;
    // Drops a request: it is not read to its end. drop() returns false if the request is not here;
    // drop_oldest() returns null if there is none.
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
