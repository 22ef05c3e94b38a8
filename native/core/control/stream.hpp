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

// What the answers to one request have in common. The control thread's alone.
struct Reply {
    Reply(Slot& slot, Prompted asked, Turn taken = {}, AdapterSet uses = {});

    Slot& slot;           // not to be used once over
    RequestEvents& lanes; // likewise
    const sotto_op op;
    const PageString body;
    const Prompted prompted;
    const std::shared_ptr<const PageBuffer> state; // to restore; or null
    const bool chunked;
    Writer writer;
    std::vector<Said> said; // by answer, as far as they are over
    std::uint32_t left;     // answers that are not
    Counts counts;          // of those that are, together
    bool over = false;      // told its last event, or about to
    Turn turn;              // in a session
    const AdapterSet adapters;
};

// Counts steps that bring a stream no further. Where each of them evaluates something, or brings others
// further, nothing else notices that the stream would never end.
class Progress {
public:
    // Takes what a step did. Returns how many steps in a row brought the stream no further: no token, and no
    // fewer tokens left than ever since the last one.
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

// The control thread's alone.
class Stream : public ScheduledStream {
public:
    // `number`: in which order they came.
    Stream(
        std::shared_ptr<Reply> reply,
        std::uint32_t index,
        ModelEntry& entry,
        std::uint64_t number,
        std::int64_t now
    );

    const std::shared_ptr<Reply> reply;
    const std::uint32_t index; // which of the answers
    std::size_t place = 0;     // among the control thread's streams
    ModelEntry& entry;
    void* handle = nullptr; // the backend's, once opened
    Answer answer;          // the compute thread's while `busy`, like the next three
    Progress progress;
    PageBuffer saved;                           // of an operation that saves: the state
    std::uint32_t saved_tokens = 0;             // of that
    KvStateStore::Kept kept;                    // what the model remembers of it while it is parked; or null
    std::shared_ptr<KvStateStore::Fetch> fetch; // of what it recalls when it gets a place; or null
    std::int64_t fetch_until = kNever;          // it goes on without
    bool awaits_fetch = false;                  // `busy` with that
    std::shared_ptr<Session>
        keeps; // that shall keep what the model remembers of it once it is closed; or null
    std::shared_ptr<Session> session;         // that it is a turn of, which may get its place; or null
    std::unique_ptr<PreparingTask> preparing; // under way on a preparing thread, which has the next; or null
    Prepared prepared;                        // what the backend made of the request, until it is opened

    void opened(const StreamInfo& info, std::int64_t now);
    // A step took place; `spoke`: it gave a token.
    void stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept;

    Counts counts() const noexcept;

private:
    Counts counts_;
    std::int64_t opened_ = 0;
    std::int64_t last_ = 0;
};

} // namespace sotto
