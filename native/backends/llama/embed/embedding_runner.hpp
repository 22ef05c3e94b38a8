// Runs the steps of an embedding model: batches of whole texts.
#pragma once

#include "devices/cpu/threads.hpp"
#include "embed/embedding_stream.hpp"
#include "model/contexts.hpp"
#include "step/step_batch.hpp"
#include "step/step_gate.hpp"

#include <span>

namespace sotto::llama {

class EmbeddingRunner {
public:
    // All arguments must outlive the runner.
    EmbeddingRunner(const llama_model* model, const Options& options, Contexts& contexts, ThreadPools& pools);
    EmbeddingRunner(const EmbeddingRunner&) = delete;
    EmbeddingRunner& operator=(const EmbeddingRunner&) = delete;

    // Runs a step and reports the result of each stream in its item. Throws Error if the step is cancelled
    // before any text is computed, or cannot run; all streams are then unchanged. Must be called within a
    // Call.
    void run(const sotto_step& step);

private:
    std::size_t batch_length(std::span<const StepText> texts) const;
    bool compute(std::span<const StepText> texts);
    int decode(std::span<const StepText> texts);
    void take_over(const StepText& text, std::span<const float> values);
    std::span<const float>
    values_of_text(const StepText& text, std::size_t sequence, std::size_t first) const;
    void fail_text(const StepText& text, sotto_status status, const char* why);

    Contexts& contexts_;
    ThreadPools& pools_;
    const std::uint32_t threads_;    // maximum; 0: no limit
    const std::size_t values_;       // of a vector
    const bool of_tokens_;           // a vector for each token
    const std::size_t batch_tokens_; // tokens of a batch, unless one text has more
    StepGate gate_{false};
    StepBatch batch_;
};

} // namespace sotto::llama
