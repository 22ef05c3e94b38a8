// One request being answered: how far it is, and what it has said.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/codec.hpp"
#include "core/pacer.hpp"
#include "core/registry.hpp"
#include "text/stop_matcher.hpp"
#include "text/utf8_stream.hpp"

namespace sotto {

// The control thread's alone.
class Stream {
public:
    enum class State : std::uint8_t {
        waiting,   // for the model to have room
        prompting, // part of the prompt is not worked through
        speaking,
        over // told its last event, or about to
    };

    Stream(Slot& slot, Prompted prompted, ModelEntry& entry, float target_tps, std::int64_t now);

    Slot& slot; // not to be used once over
    const sotto_op op;
    const std::string body;
    const Prompted prompted;
    ModelEntry& entry;
    State state = State::waiting;
    void* handle = nullptr;      // the backend's, once opened
    bool busy = false;           // part of the job under way
    std::uint32_t remaining = 0; // prompt tokens left
    std::uint64_t served = 0;    // when it had a slice last, counted in slices
    Pacer pacer;

    void opened(const sotto_stream_info& info, std::int64_t now) noexcept;

    // Takes the bytes of one token, spoken now. Returns the text that may be shown.
    std::string spoke(std::string_view bytes, std::int64_t now);

    // Whether a stop sequence or the token limit ended it; `reason()` says which.
    bool ended() const noexcept { return !reason_.empty(); }
    void end(std::string_view reason) { reason_ = reason; }
    const std::string& reason() const noexcept { return reason_; }

    // The answer is over: the text that was held back for what might have come after it.
    std::string rest();

    Counts counts() const noexcept;
    std::uint32_t tokens() const noexcept { return counts_.generated; }
    const std::string& text() const noexcept { return text_; }
    Writer& writer() noexcept { return writer_; }
    bool chunked() const noexcept { return chunked_; }
    // The host asks for another pace for all streams that have none of their own.
    void retune(float target_tps, std::int64_t now) noexcept;

private:
    std::string keep(std::string shown);

    const float own_tps_;
    const bool chunked_;
    bool stopped_ = false; // by a stop sequence
    Utf8Stream characters_;
    StopMatcher stops_;
    Writer writer_;
    Counts counts_;
    std::string text_; // what was shown; empty where only chunks are wanted
    std::string reason_;
    std::int64_t opened_ = 0;
    std::int64_t first_ = 0;
    std::int64_t last_ = 0;
};

} // namespace sotto
