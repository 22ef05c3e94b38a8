// An open model: its weights, contexts, KV cache and step runner.
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

// Call all functions but the destructor within a Call with the model's loss().
class Model {
public:
    Model(Backend& backend, Opened opened);
    ~Model();
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // Prepares a request, or answers it without a stream. Any thread.
    std::unique_ptr<Prepared> prepare(const sotto_stream_desc& desc) const;
    // Opens a stream in a slot. Prepares the request if `prepared` is null. Returns null if the
    // request was answered without a stream. The texts of `info` stay valid until the next call.
    Stream*
    open_stream(const sotto_stream_desc& desc, std::unique_ptr<Prepared> prepared, sotto_stream_info& info);
    void close_stream(Stream* stream) noexcept;
    // Replaces the contexts by new ones with `slots` slots, 0 to
    // options.parallel. All streams must be parked; all cached tokens are
    // lost. If creating the contexts throws Error, the model has 0 slots.
    void resize(std::uint32_t slots);
    // Frees an adapter. No stream may use it.
    void close_adapter(Adapter* adapter) noexcept;

    KvCache& kv() noexcept { return kv_; }
    StepRunner& steps() noexcept { return steps_; }
    AdapterLoader adapters() const noexcept;
    const sotto_backend_host& host() const noexcept { return backend_.host; }
    // Throws Error(SOTTO_ERROR_MODEL) if a mapped file was
    // truncated: all later results are invalid.
    void check_file() const { opened_.file.check(); }
    const Loss& loss() const noexcept { return opened_.options.loss; }
    sotto_model_info info() const { return info_of(opened_); }
    std::string why; // reason of the last failure on the compute thread

private:
    Backend& backend_;
    Opened opened_;
    Preparer preparer_;
    KvCache kv_;
    StepRunner steps_;
    std::string result_; // last response without a stream
    std::string stops_;  // stop strings of the stream opened last, as JSON
};

} // namespace sotto::llama
