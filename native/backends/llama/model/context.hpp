// Creates and measures llama_contexts, which hold the KV cache and compute buffers of a model. Used when a
// model is opened, measured or resized.
#pragma once

#include "model/options.hpp"
#include "model/weights.hpp"
#include "runtime/guard.hpp"

namespace sotto::llama {

// Error message for a model that is not a causal language model.
constexpr const char* kWritesNothing =
    "the model does not generate text token by token; use a causal language model";

// Memory of a model in bytes, as llama.cpp reports it. If the model has a device, `host` is host memory and
// the other members are device memory. Otherwise `host` is 0 and the other members are host memory.
struct Memory {
    std::uint64_t weights = 0;
    std::uint64_t kv = 0;
    std::uint64_t compute = 0;
    std::uint64_t host = 0;

    Memory& operator+=(const Memory& other) noexcept {
        weights += other.weights;
        kv += other.kv;
        compute += other.compute;
        host += other.host;
        return *this;
    }
};

// Sets the options that depend on the model: attention, KV cache type, n_ubatch and GPU layers. The
// result does not depend on the number of slots.
void choose_form(const llama_model* model, Options& options);

// Creates a context for `places` concurrent streams, at least 1. Throws Error.
Context make_context(Call& call, llama_model* model, const Options& options, std::uint32_t places);

// Returns the memory of a context without weights; all 0 if `context` is null.
Memory memory_of(const llama_context* context, const Options& options);

// Returns the memory of the weights in their buffers. llama.cpp's own figure counts all of a mapped
// file, including tensors that were copied out of it into another layout.
Memory weights_of(const llama_model* model, const Options& options);

} // namespace sotto::llama
