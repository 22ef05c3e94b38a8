// Plans a step: chooses the tokens that each stream computes.
#pragma once

#include "kv/kv_cache.hpp"
#include "step/step_item.hpp"

#include <vector>

namespace sotto::llama {

struct StepPlan {
    // Text tokens, ordered by slot: llama.cpp computes sequences together only if their slots are neighbours.
    std::vector<StepItem> items;
    // An image or sound, computed after the text. `stretch` is null if none is planned.
    StepItem media;
};

// Resets all items of `step`. Decoding streams come first with one token each; prefilling streams share the
// rest of `batch` tokens, which is at least the number of streams. A step has at most one image or sound, so
// that decoding streams do not wait for several images or sounds.
StepPlan plan_step(const sotto_step& step, KvCache& kv, std::uint32_t batch);

} // namespace sotto::llama
