// A model of this backend: a server, and the streams that it answers.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include <sotto/module.h>

#include "backends/proxy/answer_parser.hpp"
#include "backends/proxy/remote_answer.hpp"

namespace sotto::proxy {

// One request. Used on the compute thread.
class Stream {
public:
    Stream(std::shared_ptr<RemoteAnswer> answer, bool data) : answer_(std::move(answer)), has_data_(data) {}
    // Closes the connection.
    ~Stream() { answer_->cancel(); }
    Stream(const Stream&) = delete;
    Stream& operator=(const Stream&) = delete;

    // Fills the out fields of a step's item with the next part of the answer.
    void step(sotto_step_item& item);
    // Returns what is new in the raw text, a JSON array of deltas; valid until the next call.
    const std::string& parse(std::string_view text) { return parser_.parse(text); }

private:
    void end(sotto_step_item& item);

    std::shared_ptr<RemoteAnswer> answer_;
    const bool has_data_;
    AnswerParser parser_;
    Piece piece_;        // the last part
    std::string reason_; // why the stream failed
};

class Model {
public:
    Model(std::shared_ptr<const Options> options, std::shared_ptr<HostLink> host);

    // Asks the server for its models. Throws Error if it cannot be asked, if it has other models only, or,
    // SOTTO_ERROR_CANCELLED, if `progress` returns nonzero.
    void check(sotto_progress_fn progress, void* context);
    std::unique_ptr<Stream> open_stream(const sotto_stream_desc& desc);
    void describe(sotto_model_info& info);

    std::string why; // the last failure

private:
    const std::shared_ptr<const Options> options_;
    const std::shared_ptr<HostLink> host_;
    std::string listed_; // names of the server's models, a JSON array; empty: not asked
    std::string description_;
};

} // namespace sotto::proxy
