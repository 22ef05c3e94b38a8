// A stream of an embedding model: the texts of one request, computed over several steps.
#pragma once

#include "embed/embedding_request.hpp"

namespace sotto::llama {

struct EmbeddingStream {
    explicit EmbeddingStream(EmbeddingRequest prepared);

    // Returns the number of tokens of the texts that are not computed yet.
    std::uint32_t remaining() const noexcept { return static_cast<std::uint32_t>(tokens - computed); }
    bool done() const noexcept { return next == request.texts.size(); }

    EmbeddingRequest request;
    std::uint64_t tokens = 0;   // of all texts
    std::uint64_t computed = 0; // tokens of the computed texts
    std::size_t next = 0;       // index of the first text that is not computed
    // Tokens that steps have granted to the stream, and that were too few for its next text.
    std::uint64_t credit = 0;
    bool failed = false;
    std::string response; // set once all texts are computed
    std::string why;      // reason of its failure
};

// A text in a step.
struct StepText {
    sotto_step_item* work = nullptr;
    EmbeddingStream* stream = nullptr;
    std::size_t index = 0; // within the request

    const std::vector<llama_token>& tokens() const { return stream->request.texts[index]; }
};

// Resets the items of `step`, and chooses the texts to compute: those that the tokens of each item allow, in
// order. Texts are indivisible, so a stream saves up tokens for a long text; the first text of a step needs
// none. The result is not empty unless all streams are done.
std::vector<StepText> plan_texts(const sotto_step& step);

} // namespace sotto::llama
