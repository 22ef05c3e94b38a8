// A running request (Reply), and the streams that generate its choices (Stream).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/codec/response_writer.hpp"
#include "core/control/preparing.hpp"
#include "core/control/stream_output.hpp"
#include "core/control/stream_usage.hpp"
#include "core/model/registry.hpp"
#include "core/request/paced_queue.hpp"
#include "core/schedule/scheduled.hpp"
#include "core/session/sessions.hpp"
#include "guard/guard.hpp"

namespace sotto {

// A choice whose answer is complete.
struct EndedChoice {
    std::uint32_t index = 0;
    CompleteAnswer complete;
    Counts counts;
    AnswerIncrement increment; // its last parts, which were sent already
    bool replaced = false;     // `complete` is not what was sent
};

// State that the choices of one request share. Control thread only.
struct Reply {
    // `fingerprint`: of the backend, for the response.
    Reply(
        Slot& slot,
        ParsedRequest request,
        Turn taken = {},
        AdapterSet uses = {},
        const std::string& fingerprint = {}
    );

    Slot& slot;            // invalid once `over`
    RequestEvents& events; // invalid once `over`
    const sotto_op op;     // as backends perform it: a chat for SOTTO_OP_RESPOND
    const PageString body;
    const ParsedRequest parsed;
    const std::shared_ptr<const PageBuffer> state; // state to restore; or null
    const bool chunked;
    Writer writer;
    const std::unique_ptr<ResponseWriter> response; // of SOTTO_OP_RESPOND; null for other operations
    std::vector<CompleteAnswer> complete;           // by choice; set once the choice has ended
    std::shared_ptr<const guard::Guard> guard;      // checks the complete answers with models; null: none
    std::vector<EndedChoice> ended; // choices that wait for guardrails, which check them all together
    std::uint32_t left;             // choices that have not ended
    Counts counts;                  // total of the choices that have ended
    bool over = false;              // the request's last event was sent, or is about to be
    Turn turn;                      // turn of the session that the request names, if any
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
    bool awaits_slot = false; // the stream is `busy` because another stream has the slot that it must have

    void opened(const StreamInfo& info, std::int64_t now);
    // Called after a step. `left`: prompt tokens left to prefill; `spoke`: the step generated a token.
    void stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept;
    // Adds what a step reported to counts(). Called after each step.
    void note(const sotto_step_item& work) noexcept { usage_.stepped(work); }

    // Called after a step, whose item may state how many tokens the backend counted.
    void counted(const sotto_step_item& work) noexcept { usage_.counted(work); }

    std::optional<PrefillProgress> take_progress(std::int64_t now) noexcept {
        return usage_.take_progress(remaining, now);
    }

    Counts counts() const noexcept;
    // Returns the number of its slot; -1 if the backend has not reported it since the stream got the slot.
    std::int32_t slot() const noexcept { return usage_.prompt().slot; }
    // Called when the stream got another slot.
    void moved() noexcept { usage_.forget_slot(); }

private:
    StreamUsage usage_;
};

} // namespace sotto
