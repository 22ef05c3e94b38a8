// LoRA adapters of a model, and the sets of them that streams use.
#pragma once

#include "file/adapter_check.hpp"
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

// Loads adapters of one model.
class AdapterLoader {
public:
    // `at_once`: the most tokens that the model computes at once.
    AdapterLoader(llama_model* model, std::uint32_t at_once) noexcept : model_(model), at_once_(at_once) {}

    // Bytes that an adapter would take. Throws Error that names its path, as load() does.
    std::uint64_t measure(const sotto_adapter_source& source) const;
    // `bytes`: out, what the adapter takes. Within a Call.
    std::unique_ptr<Adapter> load(const sotto_adapter_source& source, std::uint64_t& bytes) const;

private:
    std::uint64_t bytes_of(const AdapterFacts& facts) const noexcept;

    llama_model* model_;
    std::uint32_t at_once_;
};

} // namespace sotto::llama
