// A running request (Reply), and the streams that generate its choices (Stream).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/control/preparing.hpp"
#include "core/control/stream_output.hpp"
#include "core/control/stream_usage.hpp"
#include "core/model/registry.hpp"
#include "core/request/paced_queue.hpp"
#include "core/schedule/scheduled.hpp"
#include "core/session/sessions.hpp"

namespace sotto {

// State that the choices of one request share. Control thread only.
struct Reply {
    Reply(Slot& slot, ParsedRequest request, Turn taken = {}, AdapterSet uses = {});

    Slot& slot;            // invalid once `over`
    RequestEvents& events; // invalid once `over`
    const sotto_op op;
    const PageString body;
    const ParsedRequest parsed;
    const std::shared_ptr<const PageBuffer> state; // state to restore; or null
    const bool chunked;
    Writer writer;
    std::vector<CompleteAnswer> complete; // by choice; set once the choice has ended
    std::uint32_t left;                   // choices that have not ended
    Counts counts;                        // total of the choices that have ended
    bool over = false;                    // the request's last event was sent, or is about to be
    Turn turn;                            // turn of the session that the request names, if any
    const AdapterSet adapters;
};

// The KV cache of a stream outside of its slot. Control thread only.
struct SavedKvCache {
    KvStateStore::Kept parked;                  // saved while the stream is parked; or null
    std::shared_ptr<Session> keeper;            // session that keeps the KV cache after closing; or null
    std::shared_ptr<KvStateStore::Fetch> fetch; // read of the KV cache to restore; or null
    std::int64_t fetch_until = kNever;          // when the stream stops waiting for `fetch`
    bool awaits_fetch = false;                  // the stream is `busy` because it waits for `fetch`
};

// Preparation of a stream's request by the backend. Control thread only, except
// that a preparing thread owns `request` while `task` is under way.
struct Preparation {
    std::unique_ptr<PreparingTask> task; // null if none is under way
    Prepared request;                    // prepared request, until the stream is opened
};

// Control thread only.
class Stream : public ScheduledStream {
public:
    // `number`: order of arrival.
    Stream(
        std::shared_ptr<Reply> reply,
        std::uint32_t index,
        ModelEntry& entry,
        std::uint64_t number,
        std::int64_t now
    );

    const std::shared_ptr<Reply> reply;
    const std::uint32_t index; // of the choice
    std::size_t place = 0;     // index in StreamTable
    ModelEntry& entry;
    void* handle = nullptr; // the backend's stream, once opened
    StreamOutput output;
    SavedKvCache kv;
    std::shared_ptr<Session> session; // session of the request, which may keep the slot; or null
    Preparation preparation;

    void opened(const StreamInfo& info, std::int64_t now);
    // Called after a step. `left`: prompt tokens left to prefill; `spoke`: the step generated a token.
    void stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept;

    Counts counts() const noexcept;

private:
    StreamUsage usage_;
};

} // namespace sotto
