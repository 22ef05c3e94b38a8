// A request that is being read, and the sessions that it may name.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/codec.hpp"
#include "core/control/preparing.hpp"
#include "core/request/request_table.hpp"

namespace sotto {

// Ids of the sessions that a request may name. `all`: it may name any session.
struct SessionNames {
    bool all = false;
    std::vector<std::string> ids;

    bool touch(const SessionNames& others) const noexcept;
};

// Returns the sessions that `body` may name. Searches the
// bytes, in a fraction of the time that parsing takes.
SessionNames names_in(std::string_view body);

// A request that is read on a preparing thread, or that
// waits for earlier requests that may name its session.
struct Incoming {
    explicit Incoming(Slot& slot) : slot(&slot), op(slot.submission.op) {}

    Slot* slot; // null: the request was dropped
    const sotto_op op;
    PageString body;                // moved here from the slot while the request is queued
    ParsedRequest parsed;           // out: set unless the request is about sessions
    SessionRequest session_request; // out: set if the request is about sessions
    SessionNames names;             // valid once `named` is true
    std::atomic<bool> named{false};
    PreparingTask reading; // done once the body is read

    // Parses `text`, the body of the request. Throws Error if it is invalid or reading was cancelled.
    void read(std::string_view text);
    // Sets `names` from the parsed request.
    void take_names();
    // Returns true if `later` must not overtake this request, as both may name the same session.
    bool holds(const Incoming& later) const noexcept;
};

} // namespace sotto
