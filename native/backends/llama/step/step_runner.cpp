// Runs the steps of a model: one batch for all streams that have tokens to compute.
#include "step/step_runner.hpp"

#include "runtime/guard.hpp"
#include "step/step_plan.hpp"
#include "step/step_threads.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

constexpr const char* kCancelled = "the step was cancelled";
constexpr const char* kAdaptedNan =
    "the model computes NaN with these adapters: lower their scales, or train the adapters again";

// Applies the adapters of the step. Throws Error(SOTTO_ERROR_ARGUMENT) if the step's streams have different
// adapters.
void use_adapters(const sotto_step& step, Contexts& contexts) {
    AdapterSet* set = nullptr;
    for (std::uint32_t i = 0; i < step.count; ++i) {
        auto& stream = *static_cast<Stream*>(step.items[i]->stream);
        if (set != nullptr && set->key != stream.adapters.key) {
            throw Error(
                SOTTO_ERROR_ARGUMENT,
                "the step has streams with different adapters: put only streams with the same adapters and "
                "scales into one step"
            );
        }
        set = &stream.adapters;
    }
    if (set != nullptr) {
        contexts.apply(*set);
    }
}

bool prefills(const StepPlan& plan) {
    return plan.media.stretch != nullptr || std::ranges::any_of(plan.items, [](const auto& item) {
               return item.stream->kv.tokens.in_prompt();
           });
}

} // namespace

StepRunner::StepRunner(
    const Options& options,
    Contexts& contexts,
    KvCache& kv,
    ThreadPools& pools,
    const Tokenizer& tokenizer,
    const Projector* projector
)
    : max_tokens_(options.context), decode_threads_(options.limits.decode_threads),
      prefill_threads_(options.limits.prefill_threads), contexts_(contexts), kv_(kv), pools_(pools),
      gate_(speculates(options)), batch_(options.batch, options.parallel), speculator_(options, contexts),
      chooser_(contexts, kv, speculator_, tokenizer, options.context),
      media_(projector, contexts, batch_, gate_) {
    contexts_.set_gate(StepGate::on_abort, &gate_);
}

void StepRunner::run(const sotto_step& step) {
    auto plan = plan_step(step, kv_, static_cast<std::uint32_t>(batch_.capacity()));
    use_adapters(step, contexts_);
    use_threads(step, prefills(plan) ? prefill_threads_ : decode_threads_, contexts_, pools_);
    const StepGate::Scope scope(gate_, step);
    if (gate_.ask()) {
        throw Error(SOTTO_ERROR_CANCELLED, kCancelled);
    }
    speculator_.reset();
    if (plan.media.stretch == nullptr) {
        guess(plan.items);
    }
    compute(plan.items);
    if (plan.media.stretch != nullptr && !gate_.cancelled()) {
        compute_media(plan.media, plan.items.empty());
    }
    const bool damaged = damaged_;
    if (damaged) {
        clear_damaged();
    }
    deliver(step, damaged);
}

void StepRunner::deliver(const sotto_step& step, bool damaged) {
    for (auto* const* work = step.items; work != step.items + step.count; ++work) {
        auto& stream = *static_cast<Stream*>((*work)->stream);
        if (damaged && stream.kv.tokens.in_prompt()) {
            (*work)->remaining = static_cast<std::uint32_t>(stream.kv.tokens.pending());
        }
        if ((*work)->status == SOTTO_OK && !stream.chosen.empty()) {
            stream.chosen.deliver(**work);
        }
    }
}

// Proposes draft tokens for a stream that is decoded alone. A batch of several streams reads the
// weights once for all of them anyway.
void StepRunner::guess(std::span<StepItem> items) {
    if (!speculator_.enabled() || items.size() != 1) {
        return;
    }
    const auto& stream = *items.front().stream;
    const auto& sequence = stream.kv.tokens;
    const auto count = sequence.tokens().size();
    if (sequence.in_prompt() || stream.request.alone || count >= max_tokens_) {
        return;
    }
    const auto room = std::min(max_tokens_ - count, batch_.capacity() - 1);
    speculator_.guess(items.front(), room, gate_.waited());
}

void StepRunner::fill_batch(std::span<StepItem> items) {
    batch_.clear();
    for (auto& item : items) {
        const auto& stream = item.stream->kv;
        const auto& sequence = stream.tokens;
        const auto end = sequence.held() + item.tokens;
        const bool answers = item.tokens == sequence.pending();
        for (auto at = sequence.held(); at < end; ++at) {
            const bool output = answers && at + 1 == end;
            batch_.add(stream.slot, sequence.position(at), sequence.tokens()[at], output);
        }
        item.output = answers ? batch_.size() - 1 : -1;
        for (std::size_t i = 0; i < item.guess.size(); ++i) {
            batch_.add(stream.slot, sequence.position(end + i), item.guess[i], true);
        }
    }
}

// Returns the result of llama_decode() for the batch.
int StepRunner::decode(std::span<const StepItem> items) {
    try {
        if (const auto result = llama_decode(contexts_.get(), batch_.tokens()); result != 0) {
            if (!gate_.cancelled()) {
                throw_if_lost();
            }
            return result;
        }
    } catch (const std::exception& error) {
        throw_if_lost(error);
        return is_out_of_memory(error) ? kDecodeNoMemory : kDecodeFailed;
    }
    kv_.batch_done();
    if (speculator_.enabled() && items.size() == 1) {
        speculator_.measure(items.front(), gate_.waited());
    }
    return 0;
}

// Computes all streams together. If that fails, computes each stream alone, so that only streams that fail
// alone report an error. If the gate cancels a stream that is computed alone, the step ends early without
// SOTTO_ERROR_CANCELLED, because some streams have advanced by then.
void StepRunner::compute(std::span<StepItem> items) {
    if (compute_together(items)) {
        return;
    }
    for (auto& item : items) {
        reset_item(*item.work, *item.stream);
    }
    for (auto& item : items) {
        try {
            compute_together({&item, 1});
        } catch (const Error& error) {
            throw_if_lost(error);
            break;
        }
    }
}

// Computes all items in one batch: either every stream advances, or
// none does. Returns false if several streams failed together. Throws
// Error(SOTTO_ERROR_CANCELLED) if the gate cancelled the batch.
bool StepRunner::compute_together(std::span<StepItem> items) {
    if (items.empty()) {
        return true;
    }
    fill_batch(items);
    const auto result = decode(items);
    if (result == 0) {
        for (auto& item : items) {
            take_over(item);
        }
        return true;
    }
    for (const auto& item : items) {
        take_back(item);
    }
    if (gate_.cancelled()) {
        throw Error(SOTTO_ERROR_CANCELLED, kCancelled);
    }
    for (auto& item : items) {
        const auto status = result == kDecodeNoMemory ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_INFERENCE;
        fail_stream(*item.work, *item.stream, status, reason_of(result));
    }
    return items.size() == 1;
}

// Prefills up to `item.tokens` tokens of an image or sound; on failure, undoes all of them. `alone`: no other
// stream is in the step, so a cancelled step throws Error(SOTTO_ERROR_CANCELLED). Otherwise a cancelled step
// only ends early, because other streams have already advanced.
void StepRunner::compute_media(StepItem& item, bool alone) {
    try {
        media_.run(item);
        take_over(item);
        return;
    } catch (const std::exception& error) {
        throw_if_lost(error);
        take_back(item);
        if (!gate_.cancelled()) {
            fail_stream(*item.work, *item.stream, error);
        }
    }
    if (gate_.cancelled() && alone) {
        throw Error(SOTTO_ERROR_CANCELLED, kCancelled);
    }
}

void StepRunner::take_back(const StepItem& item) {
    kv_.cut(item.stream->kv, item.stream->kv.tokens.held());
    reset_item(*item.work, *item.stream);
}

// Records that the KV cache holds the item's tokens.
// Chooses the next token if no other tokens were pending.
void StepRunner::take_over(StepItem& item) {
    auto& work = *item.work;
    auto& sequence = item.stream->kv.tokens;
    work.evaluated = sequence.in_prompt() ? item.tokens : 0;
    work.decoded = sequence.in_prompt() ? 0 : static_cast<std::uint32_t>(1 + item.guess.size());
    sequence.advance(item.tokens);
    work.remaining = static_cast<std::uint32_t>(sequence.pending());
    if (item.output >= 0) {
        choose(item);
    }
}

void StepRunner::choose(StepItem& item) {
    auto& stream = *item.stream;
    auto& work = *item.work;
    try {
        // No graph is being computed, so failed assertions may throw.
        const Call call(Call::current()->host(), Call::Abort::Throws);
        chooser_.choose(item);
        stream.kv.restored = false;
        work.remaining =
            stream.kv.tokens.in_prompt() ? static_cast<std::uint32_t>(stream.kv.tokens.pending()) : 0;
    } catch (const NoNumbers& error) {
        // adapters can overflow to NaN; the KV cache is cleared after the step
        const bool adapted = stream.adapters.key != 0;
        damaged_ = damaged_ || stream.kv.restored || adapted;
        if (!stream.kv.restored) {
            fail_stream(work, stream, error.status(), adapted ? kAdaptedNan : error.what());
        }
    } catch (const std::exception& error) {
        throw_if_lost(error);
        fail_stream(work, stream, error);
    }
}

// Clears the whole KV cache after NaN from a restored state or from adapters: removed cells stay in
// its buffers, and llama.cpp's attention still reads them. Every stream prefills again.
void StepRunner::clear_damaged() {
    Call::current()->log(
        SOTTO_LOG_ERROR,
        "the KV cache of a restored state or of a stream with adapters holds NaN; the model discards it and "
        "prefills the prompts again"
    );
    damaged_ = false;
    kv_.clear();
}

} // namespace sotto::llama
