// Converts the bytes that a model generates for one answer into the text that may be shown.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "core/codec/codec.hpp"
#include "core/request/answer_text.hpp"
#include "core/request/call_builder.hpp"
#include "core/request/held_tokens.hpp"
#include "module/backend.hpp"

namespace sotto {

// Parses generated text in the model's format. `text` is all text so far; `last`: no more text follows.
// Returns deltas as JSON, as in sotto_stream_parse_fn.
class AnswerReader {
public:
    virtual ~AnswerReader() = default;
    virtual std::string read(std::string_view text, bool last) = 0;
};

// Owned by the compute thread while a job of the answer's stream runs, otherwise by the control thread.
class Answer {
public:
    // `data`: the request is a data operation (see has_data()).
    explicit Answer(const ParsedRequest& parsed, bool data = false);

    // Call when the stream is open. `stops`: a JSON array of stop sequences of the model; may be empty.
    // `read`: generated text goes through an AnswerReader.
    void opened(std::string_view stops, bool read);

    // Checks the generated text before it is read and shown. Call before the first hear().
    void check(std::shared_ptr<const guard::Guard> guard) { text_.check(std::move(guard)); }

    // Consumes the output of a step.
    void hear(const sotto_step_item& work, AnswerReader& reader);

    // Returns the part of the answer that is new since the last call.
    AnswerIncrement take();

    bool ended() const noexcept { return complete_.finish != SOTTO_FINISH_NONE; }
    const CompleteAnswer& complete() const noexcept { return complete_; }

private:
    void end(sotto_finish finish, StopType stop) noexcept {
        complete_.finish = finish;
        complete_.stop = stop;
    }
    std::string spoken(const sotto_step_item& work);
    void tell(std::string shown, AnswerReader& reader);
    void tell_read(const std::string& deltas);
    void add(Delta::Kind kind, std::string text);
    void release_reports();

    const std::uint32_t most_; // maximum number of tokens
    const bool has_data_;
    bool read_ = false; // generated text goes through an AnswerReader
    std::uint32_t tokens_ = 0;
    AnswerText text_;
    std::string shown_; // the part of the generated text that may be shown, if an AnswerReader is used
    HeldTokens reports_;
    CallBuilder calls_;
    CompleteAnswer complete_;
    AnswerIncrement increment_;
};

} // namespace sotto
