// A stream of an embedding model: the texts of one request, computed over several steps.
#include "embed/embedding_stream.hpp"

#include "runtime/fence.hpp"

#include <algorithm>

namespace sotto::llama {

EmbeddingStream::EmbeddingStream(EmbeddingRequest prepared) : request(std::move(prepared)) {
    for (const auto& text : request.texts) {
        tokens += text.size();
    }
    if (tokens > INT32_MAX) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid input of " + std::to_string(tokens) + " tokens: expected fewer texts"
        );
    }
}

std::vector<StepText> plan_texts(const sotto_step& step) {
    std::vector<StepText> texts;
    for (std::uint32_t i = 0; i < step.count; ++i) {
        auto& work = *step.items[i];
        auto& stream = *static_cast<EmbeddingStream*>(work.stream);
        work.text = work.logprobs = work.reason = work.data = work.data_info = work.result = {nullptr, 0};
        work.evaluated = work.generated = work.decoded = 0;
        work.remaining = stream.remaining();
        work.finish = SOTTO_FINISH_NONE;
        work.status = SOTTO_OK;
        stream.credit = std::min<std::uint64_t>(stream.credit + work.tokens, stream.remaining());
        auto credit = stream.credit;
        for (auto index = stream.next; index < stream.request.texts.size(); ++index) {
            const auto size = stream.request.texts[index].size();
            if (size > credit && !texts.empty()) {
                break;
            }
            texts.push_back({&work, &stream, index});
            credit -= std::min<std::uint64_t>(credit, size);
        }
    }
    return texts;
}

} // namespace sotto::llama
