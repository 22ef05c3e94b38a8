// What happened to a request, and the queue on which an engine's host hears of it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <sotto/event.h>

#include "base/mpsc_queue.hpp"
#include "platform/clock.hpp"

namespace sotto {

struct Lane;
struct Lanes;

struct Event : MpscNode {
    Event();
    ~Event();

    sotto_event_kind kind = 0;
    sotto_request request = 0;
    std::uint64_t user = 0;
    std::string text;
    std::string json;
    std::string error; // of a request's last event, where it failed
    std::string data;  // bytes of a result that is no text
    sotto_status status = SOTTO_OK;
    std::uint32_t tokens = 0;
    float progress = 0;
    std::uint32_t index = 0;
    sotto_finish finish = SOTTO_FINISH_NONE;

    std::int64_t made_ns = 0;
    Lane* lane = nullptr;         // in which it waits until it is due; none: it does not
    Lanes* of = nullptr;          // its request's
    std::unique_ptr<Lanes> lanes; // of a request's last event: those same
    Event* after = nullptr;       // in the list that it is in
};

} // namespace sotto
