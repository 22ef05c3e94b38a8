// A request being answered, and the streams that answer it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/answer.hpp"
#include "core/registry.hpp"
#include "core/release.hpp"

namespace sotto {

// What the answers to one request have in common. The control thread's alone.
struct Reply {
    Reply(Slot& slot, Prompted asked);

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
};

// The control thread's alone.
class Stream {
public:
    enum class State : std::uint8_t {
        waiting,   // for the model to have room
        parked,    // it had a place, gave it up, and waits for another
        prompting, // part of the prompt is not worked through
        speaking,
        over // told its last event, or about to
    };

    Stream(std::shared_ptr<Reply> reply, std::uint32_t index, ModelEntry& entry, std::int64_t now);

    const std::shared_ptr<Reply> reply;
    const std::uint32_t index; // which of the answers
    const bool at_once;        // answered without a step
    ModelEntry& entry;
    const sotto_priority priority;
    const std::int64_t deadline; // kNever: none
    const std::uint64_t arrived; // in which order
    State state = State::waiting;
    void* handle = nullptr;      // the backend's, once opened
    bool busy = false;           // part of a job under way
    std::uint32_t remaining = 0; // prompt tokens left
    std::uint64_t served = 0;    // when it had a slice last, counted in slices
    std::int64_t served_at = 0;  // likewise; or when it came
    Answer answer;               // the compute thread's while `busy`, like the next
    std::string saved;           // of an operation that saves: its response

    void opened(const StreamInfo& info, std::int64_t now);

    // It has a place again, and so many tokens to work through before it goes on.
    void unparked(std::uint32_t left) noexcept;

    // A step took place; `spoke`: it gave a token.
    void stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept;

    // The host was told, or will be in time, of so many tokens.
    void told(std::uint32_t tokens) noexcept { told_ = tokens; }

    Counts counts() const noexcept;
    // Tokens that the model remembers of it.
    std::uint32_t context() const noexcept;

    bool is_outside() const noexcept { return state == State::waiting || state == State::parked; }
    bool may_park() const noexcept { return reply->op != SOTTO_OP_SAVE && !busy; }
    // Its priority, or more if it has waited long.
    int urgency(std::int64_t now) const noexcept;

    bool is_paced() const noexcept { return pacer().rate() > 0 && reply->op != SOTTO_OP_SAVE; }
    std::int64_t period() const noexcept { return Pacer::duration(1, pacer().rate()); }
    // When its next token is to be computed, at the latest: while there are still some to tell.
    std::int64_t due(std::int64_t now) const noexcept;
    // Whether its next token may be computed already.
    bool may_speak(std::int64_t now) const noexcept;
    // When there will be nothing left to tell.
    std::int64_t dry(std::int64_t now) const noexcept;

private:
    const Pacer& pacer() const noexcept { return reply->lanes.answers[index]->pacer; }
    std::int64_t moment_of(std::uint32_t n) const noexcept;
    std::uint32_t most_ahead() const noexcept;

    Counts counts_;
    std::uint32_t told_ = 0;
    std::int64_t opened_ = 0;
    std::int64_t first_ = 0;
    std::int64_t last_ = 0;
};

} // namespace sotto
