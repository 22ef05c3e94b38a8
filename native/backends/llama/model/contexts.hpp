// The llama_contexts of an open model and of its draft model. resize() replaces both.
#pragma once

#include "model/adapters.hpp"
#include "model/context.hpp"
#include "model/draft.hpp"

#include <cstdint>
#include <ggml-cpu.h>
#include <memory>

namespace sotto::llama {

class Contexts {
public:
    // Starts with 0 slots. `draft` may be null.
    Contexts(llama_model* model, Options options, std::unique_ptr<Draft> draft);

    // Replaces the contexts by new ones for `slots` concurrent streams. If resize() throws Error, there are 0
    // slots.
    void resize(Call& call, std::uint32_t slots);
    std::uint32_t slots() const noexcept { return slots_; }
    // Null if there are 0 slots.
    llama_context* get() const noexcept { return context_.get(); }
    // Null if the model has no draft model.
    Draft* draft() const noexcept { return draft_.get(); }
    // Memory of the contexts, without weights.
    Memory memory() const;

    // Every graph of the current and later contexts polls `gate`, and is aborted if `gate` returns true.
    void set_gate(ggml_abort_callback gate, void* context) noexcept;
    // Computes with `threads` threads of `pool` from now on. resize() resets both.
    void use_threads(ggml_threadpool* pool, std::int32_t threads) noexcept;
    ggml_threadpool* pool() const noexcept { return pool_; }
    std::int32_t threads() const noexcept { return threads_; }
    // Applies these adapters from the next batch on.
    void apply(AdapterSet& adapters);

private:
    void watch() noexcept;

    llama_model* model_;
    const Options options_;
    std::unique_ptr<Draft> draft_;
    Context context_;
    std::uint32_t slots_ = 0;
    ggml_abort_callback gate_ = nullptr;
    void* gate_context_ = nullptr;
    ggml_threadpool* pool_ = nullptr;
    std::int32_t threads_ = 0; // of `pool_`
};

} // namespace sotto::llama
