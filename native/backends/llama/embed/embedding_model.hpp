// A model that embeds texts, or ranks documents.
#pragma once

#include "embed/embedding_request.hpp"
#include "embed/embedding_runner.hpp"
#include "model/model.hpp"

namespace sotto::llama {

class EmbeddingModel : public Model {
public:
    EmbeddingModel(Backend& backend, Opened opened);
    ~EmbeddingModel() override;

    void close_stream(void* stream) noexcept override;
    // A stream keeps its results while it is parked; it holds nothing of the context.
    void park(void*) noexcept override {}
    std::uint32_t unpark(void* stream) override;
    void step(const sotto_step& step) override { runner_.run(step); }

protected:
    std::unique_ptr<PreparedRequest>
    prepare_body(const sotto_stream_desc& desc, const Json& body) const override;
    void*
    open_prepared(const sotto_stream_desc& desc, PreparedRequest& prepared, sotto_stream_info& info) override;

private:
    EmbeddingPreparer preparer_;
    EmbeddingRunner runner_;
};

} // namespace sotto::llama
