// Contexts of llama.cpp's: what streams of a model remember and compute in. However a context comes about,
// when its model is opened, measured or given other places, it is made and measured here.
#pragma once

#include "model/options.hpp"
#include "model/weights.hpp"
#include "runtime/guard.hpp"

namespace sotto::llama {

// Why a model is refused that has no use for a context.
constexpr const char* kWritesNothing =
    "the model does not generate text token by token; use a causal language model";

// Bytes, as llama.cpp reports them: of the device, if there is one, and then of the machine's memory apart.
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

// Chooses what the options leave open, as it suits the model: how it attends, what it keeps keys and values
// as, and how much it computes at once. Nothing of it hangs on how many places there are.
void choose_form(const llama_model* model, Options& options);

// Creates a context for `places` streams at once, at least 1. Throws Error.
Context make_context(Call& call, llama_model* model, const Options& options, std::uint32_t places);

// Returns the memory of a context; zeros for null.
Memory memory_of(const llama_context* context, const Options& options);

// What the tensors take where they are kept. llama.cpp's own figure counts a mapped file whole, also the
// parts that were copied out of it into another layout.
Memory weights_of(const llama_model* model, const Options& options);

} // namespace sotto::llama
