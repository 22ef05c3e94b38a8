// The llama_contexts of an open model and of its draft model.
#include "model/contexts.hpp"

namespace sotto::llama {

Contexts::Contexts(llama_model* model, Options options, std::unique_ptr<Draft> draft)
    : model_(model), options_(std::move(options)), draft_(std::move(draft)) {}

void Contexts::resize(Call& call, std::uint32_t slots) {
    call.expect_below(SOTTO_LOG_ERROR); // llama.cpp logs the sizes of contexts
    slots_ = 0;
    pool_ = nullptr;
    threads_ = 0;
    context_.reset();
    if (draft_) {
        draft_->forget();
    }
    if (options_.loss.seen()) {
        throw Error(SOTTO_ERROR_DEVICE, call.last_error("the graphics card was lost"));
    }
    if (slots == 0) {
        return;
    }
    auto context = make_context(call, model_, options_, slots);
    if (draft_) {
        for_draft([&] { draft_->remember(call, slots); });
    }
    context_ = std::move(context);
    slots_ = slots;
    watch();
}

Memory Contexts::memory() const {
    auto memory = memory_of(context_.get(), options_);
    if (draft_) {
        memory += draft_->memory();
    }
    return memory;
}

void Contexts::set_gate(ggml_abort_callback gate, void* context) noexcept {
    gate_ = gate;
    gate_context_ = context;
    watch();
}

void Contexts::watch() noexcept {
    for (auto* context : {context_.get(), draft_ ? draft_->context() : nullptr}) {
        if (context != nullptr) {
            llama_set_abort_callback(context, gate_, gate_context_);
        }
    }
}

void Contexts::use_threads(ggml_threadpool* pool, std::int32_t threads) noexcept {
    if (context_ == nullptr) {
        return;
    }
    if (pool != pool_) {
        pool_ = pool;
        llama_attach_threadpool(context_.get(), pool, pool);
        if (draft_) {
            llama_attach_threadpool(draft_->context(), pool, pool);
        }
    }
    if (threads != threads_) {
        threads_ = threads;
        llama_set_n_threads(context_.get(), threads, threads);
        if (draft_) {
            llama_set_n_threads(draft_->context(), threads, threads);
        }
    }
}

void Contexts::apply(AdapterSet& adapters) {
    if (context_ != nullptr) {
        adapters.apply(context_.get());
    }
}

} // namespace sotto::llama
