// A request being answered, and the streams that answer it.
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

// State that all answers (choices) of one request share. Control thread only.
struct Reply {
    Reply(Slot& slot, Prompted asked, Turn taken = {}, AdapterSet uses = {});

    Slot& slot;           // do not use once `over`
    RequestEvents& lanes; // do not use once `over`
    const sotto_op op;
    const PageString body;
    const Prompted prompted;
    const std::shared_ptr<const PageBuffer> state; // state to restore, or null
    const bool chunked;
    Writer writer;
    std::vector<Said> said; // results of the answers that have ended, by index
    std::uint32_t left;     // number of answers that have not ended
    Counts counts;          // token counts of the answers that have ended
    bool over = false;      // the last event was written, or is about to be
    Turn turn;              // the request's turn in its session
    const AdapterSet adapters;
};

// Counts steps in which a stream makes no progress. If such steps still evaluate something, or advance other
// streams, no other check detects a stream that never ends.
class Progress {
public:
    // Records a step. Returns the number of consecutive steps without progress: no token was generated, and
    // the tokens left to prefill reached no new minimum since the last token.
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
    const std::uint32_t index; // of the answer (choice)
    std::size_t place = 0;     // index in the StreamTable
    ModelEntry& entry;
    void* handle = nullptr; // the backend's stream once opened, or null
    Answer answer;          // like the next three, used by the compute thread while `busy`
    Progress progress;
    PageBuffer saved;                           // state, for an operation that saves one
    std::uint32_t saved_tokens = 0;             // tokens in `saved`
    KvStateStore::Kept kept;                    // KV state while it is parked, or null
    std::shared_ptr<KvStateStore::Fetch> fetch; // read of its KV state from disk, or null
    std::int64_t fetch_until = kNever;          // time at which it continues without the state
    bool awaits_fetch = false;                  // `busy` because of `fetch`
    std::shared_ptr<Session> keeps;             // stores the KV state when the stream is closed, or null
    std::shared_ptr<Session> session;           // its session, which may keep the slot, or null
    std::unique_ptr<PreparingTask> preparing;   // running preparation, which writes `prepared`, or null
    Prepared prepared; // result of the backend's prepare(), until the stream is opened

    void opened(const StreamInfo& info, std::int64_t now);
    // Called after a step. `spoke`: the step generated a token.
    void stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept;

    Counts counts() const noexcept;

private:
    Counts counts_;
    std::int64_t opened_ = 0;
    std::int64_t last_ = 0;
};

} // namespace sotto
