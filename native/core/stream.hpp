// A request being answered, and the streams that answer it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/answer.hpp"
#include "core/registry.hpp"
#include "core/release.hpp"
#include "core/schedule/scheduled.hpp"
#include "core/sessions.hpp"

namespace sotto {

// What the answers to one request have in common. The control thread's alone.
struct Reply {
    Reply(Slot& slot, Prompted asked, Turn taken = {});

    Slot& slot;   // not to be used once over
    Lanes& lanes; // likewise
    const sotto_op op;
    const std::string body;
    const Prompted prompted;
    const bool chunked;
    Writer writer;
    std::vector<Said> said; // by answer, as far as they are over
    std::uint32_t left;     // answers that are not
    Counts counts;          // of those that are, together
    bool over = false;      // told its last event, or about to
    Turn turn;              // in a session
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
    ModelEntry& entry;
    void* handle = nullptr; // the backend's, once opened
    Answer answer;          // the compute thread's while `busy`, like the next
    std::string saved;      // of an operation that saves: its response
    Parking::Kept kept;     // what the model remembers of it while it is parked; or null
    std::shared_ptr<Session>
        keeps; // that shall keep what the model remembers of it once it is closed; or null
    std::shared_ptr<Session> session; // that it is a turn of, which may get its place; or null

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
