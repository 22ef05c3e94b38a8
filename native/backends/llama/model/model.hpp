// An open model: what models that generate text and models that embed texts have in common.
#pragma once

#include "model/backend.hpp"
#include "model/open.hpp"
#include "model/prepared_request.hpp"
#include "runtime/json_parts.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace sotto::llama {

// Call all functions but the destructor within a Call with the model's loss(). Streams are of a type that
// only the model knows.
class Model {
public:
    virtual ~Model() = default;
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    // Prepares a request, or answers it without a stream. Any thread.
    std::unique_ptr<PreparedRequest> prepare(const sotto_stream_desc& desc) const;
    // Opens a stream in a slot. Prepares the request if `prepared` is null. Returns null if the
    // request was answered without a stream. The texts of `info` stay valid until the next call.
    void* open_stream(
        const sotto_stream_desc& desc, std::unique_ptr<PreparedRequest> prepared, sotto_stream_info& info
    );
    virtual void close_stream(void* stream) noexcept = 0;
    virtual void park(void* stream) noexcept = 0;
    // Gives a parked stream a slot again. Returns the number of tokens left to compute.
    virtual std::uint32_t unpark(void* stream) = 0;
    // Runs a step and reports the result of each stream in its item. Throws Error if the step is cancelled or
    // cannot run; all streams are then unchanged.
    virtual void step(const sotto_step& step) = 0;

    // The functions below throw Error(SOTTO_ERROR_UNSUPPORTED) if the model has no such function.
    virtual sotto_str parse(void* stream, std::string_view text, bool last);
    virtual std::uint32_t save(void* stream, sotto_write_fn write, void* context);
    virtual std::uint32_t restore(std::string_view state);
    virtual sotto_slot_info slot_info(std::uint32_t slot) const;
    virtual std::uint32_t save_slot(std::uint32_t slot, sotto_write_fn write, void* context);
    virtual std::uint32_t restore_slot(std::uint32_t slot, std::string_view state);
    virtual std::uint32_t erase_slot(std::uint32_t slot);
    virtual void resize(std::uint32_t slots);
    virtual AdapterLoader adapters() const;
    // Frees an adapter. No stream may use it.
    virtual void close_adapter(Adapter* adapter) noexcept;

    const sotto_backend_host& host() const noexcept { return backend_.host; }
    // Throws Error(SOTTO_ERROR_MODEL) if a mapped file was
    // truncated: all later results are invalid.
    void check_file() const { opened_.file.check(); }
    const Loss& loss() const noexcept { return opened_.options.loss; }
    sotto_model_info info() const { return info_of(opened_); }

    std::string why; // reason of the last failure on the compute thread

protected:
    Model(Backend& backend, Opened opened) : backend_(backend), opened_(std::move(opened)) {}

    // Adds what the model can do to its description.
    void describe(const Json& capabilities);
    // Prepares a request whose body, a JSON object, was parsed, or answers it without a stream. Any thread.
    virtual std::unique_ptr<PreparedRequest>
    prepare_body(const sotto_stream_desc& desc, const Json& body) const = 0;
    // Opens a stream for a prepared request that was not answered.
    virtual void*
    open_prepared(const sotto_stream_desc& desc, PreparedRequest& prepared, sotto_stream_info& info) = 0;

    Backend& backend_;
    Opened opened_;

private:
    std::string result_; // last response without a stream
};

// Returns an open model of the kind that `opened` is. Throws Error.
std::unique_ptr<Model> make_model(Backend& backend, Opened opened);

} // namespace sotto::llama
