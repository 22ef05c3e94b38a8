// Events of a request, delivered to the host through a queue.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include <sotto/event.h>

#include "base/mpsc_queue.hpp"
#include "platform/clock.hpp"
#include "platform/pages.hpp"

namespace sotto {

struct ChoiceEvents;
struct RequestEvents;

struct Event : MpscNode {
    Event();
    ~Event();

    sotto_event_kind kind = 0;
    sotto_request request = 0;
    std::uint64_t user = 0;
    std::string text;
    std::string json;
    std::string error; // of a failed request's last event
    std::string data;  // bytes of a result that is not text
    PageBuffer large;  // the same, if there are many
    sotto_status status = SOTTO_OK;
    std::uint32_t tokens = 0;
    float progress = 0;
    std::uint32_t index = 0;
    sotto_finish finish = SOTTO_FINISH_NONE;

    std::int64_t made_ns = 0;
    ChoiceEvents* lane = nullptr; // the paced queue that holds the event until it is due; null: not paced
    RequestEvents* of = nullptr;  // the queues of the event's request
    std::unique_ptr<RequestEvents> events; // a request's last event owns the request's queues
    Event* after = nullptr;                // next event in the list that holds this event
};

} // namespace sotto
