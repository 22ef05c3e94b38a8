// A request being answered, and the streams that answer it.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/answer.hpp"
#include "core/pacer.hpp"
#include "core/registry.hpp"

namespace sotto {

// What the answers to one request have in common. The control thread's alone.
struct Reply {
    Reply(Slot& slot, Prompted asked);

    Slot& slot; // not to be used once over
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
        prompting, // part of the prompt is not worked through
        speaking,
        over // told its last event, or about to
    };

    Stream(
        std::shared_ptr<Reply> reply,
        std::uint32_t index,
        ModelEntry& entry,
        float target_tps,
        std::int64_t now
    );

    const std::shared_ptr<Reply> reply;
    const std::uint32_t index; // which of the answers
    const bool at_once;        // answered without a step
    ModelEntry& entry;
    State state = State::waiting;
    void* handle = nullptr;      // the backend's, once opened
    bool busy = false;           // part of a job under way
    std::uint32_t remaining = 0; // prompt tokens left
    std::uint64_t served = 0;    // when it had a slice last, counted in slices
    Pacer pacer;
    Answer answer;     // the compute thread's while `busy`, like the next
    std::string saved; // of an operation that saves: its response

    void opened(const StreamInfo& info, std::int64_t now);

    // A step took place; `spoke`: it gave a token.
    void stepped(std::uint32_t left, bool spoke, std::int64_t now) noexcept;

    Counts counts() const noexcept;
    // The host asks for another pace for all streams that have none of their own.
    void retune(float target_tps, std::int64_t now) noexcept;

private:
    const float own_tps_;
    Counts counts_;
    std::int64_t opened_ = 0;
    std::int64_t first_ = 0;
    std::int64_t last_ = 0;
};

} // namespace sotto
