// Requests on their way from the host to a model.
#pragma once

#include <atomic>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/codec.hpp"
#include "core/control/preparing.hpp"
#include "core/request/request_table.hpp"

namespace sotto {

// Sessions that a request may name.
struct SessionNames {
    bool all = false;
    std::vector<std::string> ids;

    bool touch(const SessionNames& others) const noexcept;
};

// What `body` may name, found by its bytes, so in a fraction of the time that it takes to read it.
SessionNames names_in(std::string_view body);

// A request that is read on a preparing thread, or waits for those before it that may name its session.
struct Incoming {
    explicit Incoming(Slot& slot) : slot(&slot), op(slot.asked.op) {}

    Slot* slot; // null: nobody wants it any more
    const sotto_op op;
    PageString body;    // the slot's, while it is here
    Prompted prompted;  // out, of a request for a model
    SessionAsked asked; // out, of one about sessions
    SessionNames names; // to be looked at once `named`
    std::atomic<bool> named{false};
    PreparingTask reading; // done: it is read

    // Reads `text`, its body. Throws as read_request() does.
    void read(std::string_view text);
    // Takes the names from what was read.
    void take_names();
    // Whether `later` must not overtake it.
    bool holds(const Incoming& later) const noexcept;
};

} // namespace sotto
