// A model that embeds texts, or ranks documents.
#include "embed/embedding_model.hpp"

#include "embed/bf16_weights.hpp"
#include "runtime/guard.hpp"

namespace sotto::llama {

EmbeddingModel::EmbeddingModel(Backend& backend, Opened opened)
    : Model(backend, std::move(opened)), preparer_(opened_.weights.get(), opened_.options),
      runner_(opened_.weights.get(), opened_.options, *opened_.contexts, backend.pools) {
    allow_bf16(opened_.weights.get());
    describe(preparer_.capabilities());
    opened_.poll = {};
    backend_.pools.model_opened();
}

EmbeddingModel::~EmbeddingModel() {
    const Call call(host(), Call::Abort::Dies, loss());
    opened_.contexts.reset(); // contexts may point to pools that model_closed() frees
    backend_.pools.model_closed();
}

std::unique_ptr<PreparedRequest>
EmbeddingModel::prepare_body(const sotto_stream_desc& desc, const Json& body) const {
    return std::make_unique<EmbeddingRequest>(preparer_.prepare(desc, body));
}

void* EmbeddingModel::open_prepared(
    const sotto_stream_desc& /*desc*/, PreparedRequest& prepared, sotto_stream_info& info
) {
    auto stream = std::make_unique<EmbeddingStream>(std::move(static_cast<EmbeddingRequest&>(prepared)));
    info.prompt_tokens = stream->remaining();
    return stream.release();
}

void EmbeddingModel::close_stream(void* stream) noexcept {
    delete static_cast<EmbeddingStream*>(stream);
}

std::uint32_t EmbeddingModel::unpark(void* stream) {
    return static_cast<EmbeddingStream*>(stream)->remaining();
}

} // namespace sotto::llama
