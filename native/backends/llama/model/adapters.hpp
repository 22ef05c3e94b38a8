// LoRA adapters of a model, and the sets of them that streams use.
#pragma once

#include "runtime/fence.hpp"

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

// Adapters and scales of a stream. Sets with equal keys compute the same.
struct AdapterSet {
    AdapterSet() = default;
    explicit AdapterSet(const sotto_stream_desc& desc);

    std::uint64_t key = 0; // hash of file contents and scales, valid in saved states too; 0: no adapters
    std::vector<llama_adapter_lora*> adapters;
    std::vector<float> scales;

    // Sets the adapters for the next batches of `context`. llama.cpp ignores a set that is already applied.
    void apply(llama_context* context); // which takes pointers to non-const values, and only reads them
};

} // namespace sotto::llama
