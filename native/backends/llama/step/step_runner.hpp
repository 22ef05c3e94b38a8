// Runs the steps of a model: one batch for all streams that have tokens to compute.
#pragma once

#include "devices/cpu/threads.hpp"
#include "kv/kv_cache.hpp"
#include "model/contexts.hpp"
#include "step/media_prefill.hpp"
#include "step/speculator.hpp"
#include "step/step_batch.hpp"
#include "step/step_gate.hpp"
#include "step/step_item.hpp"
#include "step/token_chooser.hpp"

#include <cstdint>
#include <span>

namespace sotto::llama {

class StepRunner {
public:
    // `projector`: null if the model reads text only. All arguments must outlive the runner.
    StepRunner(
        const Options& options,
        Contexts& contexts,
        KvCache& kv,
        ThreadPools& pools,
        const Tokenizer& tokenizer,
        const Projector* projector
    );
    StepRunner(const StepRunner&) = delete;
    StepRunner& operator=(const StepRunner&) = delete;

    // Runs a step and reports the result of each stream in its item. Throws Error if the step is cancelled or
    // cannot run; all streams are then unchanged. Must be called within a Call.
    void run(const sotto_step& step);

private:
    void guess(std::span<StepItem> items);
    void fill_batch(std::span<StepItem> items);
    int decode(std::span<const StepItem> items);
    void compute(std::span<StepItem> items);
    bool compute_together(std::span<StepItem> items);
    void compute_media(StepItem& item, bool alone);
    void take_back(const StepItem& item);
    void take_over(StepItem& item);
    void choose(StepItem& item);
    void clear_damaged();
    void deliver(const sotto_step& step, bool damaged);

    const std::size_t max_tokens_;        // context size of one stream
    const std::uint32_t decode_threads_;  // maximum; 0: no limit
    const std::uint32_t prefill_threads_; // maximum; 0: no limit
    Contexts& contexts_;
    KvCache& kv_;
    ThreadPools& pools_;
    StepGate gate_;
    StepBatch batch_;
    Speculator speculator_;
    TokenChooser chooser_;
    MediaPrefill media_;
    bool damaged_ = false; // this step found NaN in a restored state or with adapters
};

} // namespace sotto::llama
