// A running request (Reply), and the streams that generate its choices (Stream).
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/control/preparing.hpp"
#include "core/model/registry.hpp"
#include "core/request/answer.hpp"
#include "core/request/paced_queue.hpp"
#include "core/schedule/scheduled.hpp"
#include "core/session/sessions.hpp"

namespace sotto {

// State that the choices of one request share. Control thread only.
struct Reply {
    Reply(Slot& slot, Prompted asked, Turn taken = {}, AdapterSet uses = {});

    Slot& slot;           // invalid once `over`
    RequestEvents& lanes; // invalid once `over`
    const sotto_op op;
    const PageString body;
    const Prompted prompted;
    const std::shared_ptr<const PageBuffer> state; // state to restore; or null
    const bool chunked;
    Writer writer;
    std::vector<Said> said; // by choice, once it has ended
    std::uint32_t left;     // choices that have not ended
    Counts counts;          // total of the choices that have ended
    bool over = false;      // its last event was sent, or is about to be
    Turn turn;              // of a session, if it names one
    const AdapterSet adapters;
};

// Counts steps in which a stream makes no progress. If each such step evaluates something,
// or advances other streams, no other check detects that the stream would never end.
class Progress {
public:
    // Adds the result of a step. Returns how many steps in a row made no progress: no token,
    // no data, no finish, and `remaining` not below its minimum since the last token.
    std::uint32_t add(const sotto_step_item& work) noexcept {
        const bool moved = work.generated != 0 || work.data.size != 0 || work.finish != SOTTO_FINISH_NONE ||
                           work.remaining < fewest_left_;
        fewest_left_ = work.generated != 0 ? UINT32_MAX : std::min(fewest_left_, work.remaining);
        idle_steps_ = moved ? 0 : idle_steps_ + 1;
        return idle_steps_;
    }

private:
    std::uint32_t fewest_left_ = UINT32_MAX;
    std::uint32_t idle_steps_ = 0;
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
    Answer answer;          // while `busy`, the compute thread owns this and the next three
    Progress progress;
    PageBuffer saved;                           // state of a save operation
    std::uint32_t saved_tokens = 0;             // number of tokens in `saved`
    KvStateStore::Kept kept;                    // KV cache while parked; or null
    std::shared_ptr<KvStateStore::Fetch> fetch; // read of the KV cache to restore; or null
    std::int64_t fetch_until = kNever;          // then it continues without
    bool awaits_fetch = false;                  // `busy` because it waits for `fetch`
    std::shared_ptr<Session> keeps;             // keeps the KV cache after closing; or null
    std::shared_ptr<Session> session;           // of its turn, may keep its slot; or null
    std::unique_ptr<PreparingTask> preparing;   // under way, owns `prepared`; or null
    Prepared prepared;                          // prepared request, until opened

    void opened(const StreamInfo& info, std::int64_t now);
    // Called after a step. `spoke`: it generated a token.
    void stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept;

    Counts counts() const noexcept;

private:
    Counts counts_;
    std::int64_t opened_ = 0;
    std::int64_t last_ = 0;
};

} // namespace sotto
