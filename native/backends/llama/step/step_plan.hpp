// Decides what each stream of a step computes.
#pragma once

#include "kv/kv_cache.hpp"
#include "step/step_item.hpp"

#include <vector>

namespace sotto::llama {

struct StepPlan {
    std::vector<StepItem>
        items;      // text; by slot, as llama.cpp computes only neighbours in its memory together
    StepItem media; // with a stretch: an image or sound, computed after them
};

// Resets all items of `step`. Answers come first with one token each; prompts share the rest of `batch`
// tokens, which is no less than the number of streams. At most one image or sound is in a step, so that
// answers do not wait for several.
StepPlan plan_step(const sotto_step& step, KvCache& kv, std::uint32_t batch);

} // namespace sotto::llama
