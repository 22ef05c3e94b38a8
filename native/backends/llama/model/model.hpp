// An open model: its weights and contexts, and what computes with them.
#pragma once

#include "chat/prepare.hpp"
#include "kv/kv_cache.hpp"
#include "model/adapters.hpp"
#include "model/backend.hpp"
#include "model/open.hpp"
#include "step/step_runner.hpp"

#include <memory>
#include <string>

namespace sotto::llama {

// All but its end within a Call of its loss.
class Model {
public:
    Model(Backend& backend, Opened opened);
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // Prepares a request, or answers it at once. Any thread.
    std::unique_ptr<Prepared> prepare(const sotto_stream_desc& desc) const;
    // Opens a stream in a slot; prepares the request if `prepared` is null. The texts of `info` stay valid
    // until the next call. Returns null if the request was answered at once.
    Stream*
    open_stream(const sotto_stream_desc& desc, std::unique_ptr<Prepared> prepared, sotto_stream_info& info);
    void close_stream(Stream* stream) noexcept;
    // Makes the contexts anew with this many slots, 0 to options.parallel. All streams must be parked; what
    // is cached is lost. If making them throws Error, the model has 0 slots.
    void resize(std::uint32_t slots);
    // No stream uses it any more.
    void close_adapter(Adapter* adapter) noexcept;

    KvCache& kv() noexcept { return kv_; }
    StepRunner& steps() noexcept { return steps_; }
    AdapterLoader adapters() const noexcept;
    const sotto_backend_host& host() const noexcept { return backend_.host; }
    // Throws Error(SOTTO_ERROR_MODEL) if a mapped file was truncated: what was computed since is worthless.
    void check_file() const { opened_.file.check(); }
    const Loss& loss() const noexcept { return opened_.options.loss; }
    sotto_model_info info() const { return info_of(opened_); }
    std::string why; // of the last failure on the compute thread

private:
    Backend& backend_;
    Opened opened_;
    Preparer preparer_;
    KvCache kv_;
    StepRunner steps_;
    std::string result_; // of the last request that was answered at once
    std::string stops_;  // of the stream opened last, as JSON
};

} // namespace sotto::llama
