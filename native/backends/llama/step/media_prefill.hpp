// Prefills an image or a sound: encodes it, then decodes its embeddings.
#pragma once

#include "media/projector.hpp"
#include "model/contexts.hpp"
#include "step/step_batch.hpp"
#include "step/step_gate.hpp"
#include "step/step_item.hpp"

namespace sotto::llama {

class MediaPrefill {
public:
    // `projector`: null if the model reads text only; run() must not be called then.
    MediaPrefill(const Projector* projector, Contexts& contexts, StepBatch& batch, StepGate& gate)
        : projector_(projector), contexts_(contexts), batch_(batch), gate_(gate) {}

    // Computes up to `item.tokens` pending tokens of the item's image or sound, or all of them if its prefill
    // cannot be split. Sets `tokens` and `output` of `item`. Throws Error if the computation fails or the
    // gate cancels the step.
    void run(StepItem& item);

private:
    int decode(const KvStream& stream, Stretch& stretch, std::size_t held, std::size_t count);

    const Projector* projector_;
    Contexts& contexts_;
    StepBatch& batch_;
    StepGate& gate_;
};

} // namespace sotto::llama
