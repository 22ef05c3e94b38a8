// A model that generates text: its KV cache and step runner.
#pragma once

#include "chat/prepare.hpp"
#include "kv/kv_cache.hpp"
#include "model/model.hpp"
#include "step/step_runner.hpp"

namespace sotto::llama {

class TextModel : public Model {
public:
    TextModel(Backend& backend, Opened opened);
    ~TextModel() override;

    void close_stream(void* stream) noexcept override;
    void park(void* stream) noexcept override;
    std::uint32_t unpark(void* stream) override;
    void step(const sotto_step& step) override { steps_.run(step); }
    sotto_str parse(void* stream, std::string_view text, bool last) override;
    std::uint32_t save(void* stream, sotto_write_fn write, void* context) override;
    std::uint32_t restore(std::string_view state) override { return kv_.restore(state); }
    sotto_slot_info slot_info(std::uint32_t slot) const override { return kv_.info_of(slot); }
    std::uint32_t save_slot(std::uint32_t slot, sotto_write_fn write, void* context) override {
        return kv_.save_slot(slot, write, context);
    }
    std::uint32_t restore_slot(std::uint32_t slot, std::string_view state) override {
        return kv_.restore_slot(slot, state);
    }
    std::uint32_t erase_slot(std::uint32_t slot) override { return kv_.erase_slot(slot); }
    // Replaces the contexts by new ones with `slots` slots, 0 to
    // options.parallel. All streams must be parked; all cached tokens are
    // lost. If creating the contexts throws Error, the model has 0 slots.
    void resize(std::uint32_t slots) override;
    AdapterLoader adapters() const override;
    void close_adapter(Adapter* adapter) noexcept override;

protected:
    std::unique_ptr<PreparedRequest>
    prepare_body(const sotto_stream_desc& desc, const Json& body) const override;
    void*
    open_prepared(const sotto_stream_desc& desc, PreparedRequest& prepared, sotto_stream_info& info) override;

private:
    Preparer preparer_;
    KvCache kv_;
    StepRunner steps_;
    std::string stops_;    // stop strings of the stream opened last, as JSON
    std::string settings_; // values in effect of the stream opened last, as JSON; or empty
};

} // namespace sotto::llama
