// One answer as it comes: from a model's bytes to what may be shown of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/codec/codec.hpp"
#include "module/backend.hpp"
#include "text/stop_matcher.hpp"
#include "text/utf8_stream.hpp"

namespace sotto {

// Reads generated text in the form of its model: all of it so far, and whether that is all there will be.
// Returns deltas as JSON, as sotto_stream_parse_fn has it.
class AnswerReader {
public:
    virtual ~AnswerReader() = default;
    virtual std::string read(std::string_view text, bool last) = 0;
};

// While a job works for it, the compute thread's; the control thread's otherwise.
class Answer {
public:
    // `data`: its operation is one with data.
    explicit Answer(const Prompted& prompted, bool data = false);

    // The stream that answers is open. `stops`: a JSON array of texts that end an answer of its model, or
    // empty. `read`: what is generated goes through a reader.
    void opened(std::string_view stops, bool read);

    // Takes what a step gave.
    void hear(const sotto_step_item& work, AnswerReader& reader);

    // What is new since the last time.
    Heard take();

    bool ended() const noexcept { return said_.finish != SOTTO_FINISH_NONE; }
    const Said& said() const noexcept { return said_; }

private:
    void end(sotto_finish finish) { said_.finish = finish; }
    std::string spoken(const sotto_step_item& work);
    std::string rest();
    void tell(std::string shown, AnswerReader& reader);
    void tell_read(const std::string& deltas);
    void add_call(const Json& call);
    void add(Delta::Kind kind, std::string text);
    void close_call();
    void release_logprobs();

    struct Logprobs {
        std::size_t begin; // of its token, in the bytes generated
        std::string json;
    };

    const std::uint32_t most_; // tokens
    const bool keeps_logprobs_;
    const bool has_data_;
    bool read_ = false;    // what is generated goes through a reader
    bool stopped_ = false; // by a stop sequence
    std::uint32_t tokens_ = 0;
    Utf8Stream characters_;
    StopMatcher stops_;
    std::size_t generated_ = 0; // bytes
    std::string shown_;         // what may be shown of them; all of it if it is read
    std::size_t shown_bytes_ = 0;
    std::vector<Logprobs> logprobs_; // not released yet
    Said said_;
    std::size_t calls_ = 0;    // that began, also those that broke off
    std::optional<Call> call_; // the last of them, while more may come of it
    Heard heard_;
};

} // namespace sotto
