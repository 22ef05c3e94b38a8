// LoRA adapters of a model, and the sets of them that streams use.
#pragma once

#include "fence.hpp"

#include <cstdint>
#include <llama.h>
#include <memory>
#include <span>
#include <vector>

namespace sotto::llama {

struct FreeAdapter {
    void operator()(llama_adapter_lora* adapter) const noexcept { llama_adapter_lora_free(adapter); }
};

struct Adapter {
    std::unique_ptr<llama_adapter_lora, FreeAdapter> weights;
    std::uint64_t hash = 0; // of its file's contents
};

// What a stream is computed with. Two sets with the same key compute the same.
struct AdapterSet {
    AdapterSet() = default;
    explicit AdapterSet(const sotto_stream_desc& desc);

    std::uint64_t key = 0; // of contents and scales, so that it is one in saved states too; 0: no adapters
    std::vector<llama_adapter_lora*> adapters;
    std::vector<float> scales;

    // Has `context` compute with it from its next batch on. Costs nothing where it does already.
    void apply(llama_context* context) const;
};

} // namespace sotto::llama
