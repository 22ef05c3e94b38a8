// LoRA adapters of a model, and the sets of adapters that streams use.
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
    std::uint64_t hash = 0; // hash of the file's contents
};

// Adapters and scales of a stream. Sets with equal keys compute the same results.
struct AdapterSet {
    AdapterSet() = default;
    explicit AdapterSet(const sotto_stream_desc& desc);

    std::uint64_t key = 0; // hash of files and scales, stable across processes; 0: no adapters
    std::vector<llama_adapter_lora*> adapters;
    std::vector<float> scales;

    // Sets the adapters for the next batches of `context`. llama.cpp ignores a set that is already applied.
    // apply() is not const, because llama.cpp takes pointers to non-const data, which it only reads.
    void apply(llama_context* context);
};

// Loads adapters of one model.
class AdapterLoader {
public:
    // `at_once`: n_ubatch of the model's context, in tokens.
    AdapterLoader(llama_model* model, std::uint32_t at_once) noexcept : model_(model), at_once_(at_once) {}

    // Returns the memory in bytes that an adapter would take. Throws Error with the adapter's path in the
    // message.
    std::uint64_t measure(const sotto_adapter_source& source) const;
    // Loads an adapter. `bytes`: receives the memory that the adapter takes. Throws Error with the adapter's
    // path in the message. Must be called within a Call.
    std::unique_ptr<Adapter> load(const sotto_adapter_source& source, std::uint64_t& bytes) const;

private:
    std::uint64_t bytes_of(const AdapterFacts& facts) const noexcept;

    llama_model* model_;
    std::uint32_t at_once_;
};

} // namespace sotto::llama
