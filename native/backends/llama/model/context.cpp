// Creates and measures llama_contexts, which hold the KV cache and compute buffers of a model.
#include "model/context.hpp"

#include "devices/cpu/attention/attention.hpp"
#include "devices/device.hpp"
#include "embed/pooling.hpp"
#include "llama_cpp/clear_buffer.hpp"
#include "step/speculate.hpp"

#include <cstdlib>
#include <ggml-backend.h>
#include <llama-ext.h>
#include <set>
#include <utility>
#include <vector>

namespace sotto::llama {
namespace {

ggml_type kv_type(Options::KvType type) {
    return type == Options::KvType::Q8_0 ? GGML_TYPE_Q8_0 : GGML_TYPE_F16;
}

llama_flash_attn_type flash_attention(Options::FlashAttention asked) {
    switch (asked) {
    case Options::FlashAttention::On:
        return LLAMA_FLASH_ATTN_TYPE_ENABLED;
    case Options::FlashAttention::Off:
        return LLAMA_FLASH_ATTN_TYPE_DISABLED;
    default:
        return LLAMA_FLASH_ATTN_TYPE_AUTO;
    }
}

// Returns the number of KV cells of one stream: the context size, rounded up as llama.cpp does.
std::uint32_t cells_of(const Options& options) {
    constexpr std::uint32_t kAtOnce = 256;
    return (options.context + kAtOnce - 1) / kAtOnce * kAtOnce;
}

// Returns true if the key and value sizes of all heads are multiples of `of`.
bool heads_are_multiples(const llama_model* model, std::uint64_t of) {
    const auto heads = llama_model_n_head(model);
    if (heads <= 0) {
        return false;
    }
    const auto common = static_cast<std::uint64_t>(llama_model_n_embd(model) / heads);
    const auto attention = meta(model, "general.architecture") + ".attention.";
    const auto divides = [&](const char* which, std::uint64_t otherwise) {
        const auto told = meta(model, attention + which);
        return (told.empty() ? otherwise : std::strtoull(told.c_str(), nullptr, 10)) % of == 0;
    };
    return divides("key_length", common) && divides("value_length", common) &&
           divides("key_length_swa", of) && divides("value_length_swa", of);
}

// Returns true if q8_0, in blocks of 32 numbers, fits the KV cache and makes it smaller. A
// recurrent state is never converted.
bool fits_q8_0(const llama_model* model) {
    return !llama_model_is_recurrent(model) &&
           heads_are_multiples(model, static_cast<std::uint64_t>(ggml_blck_size(GGML_TYPE_Q8_0)));
}

// Returns the maximum n_ubatch in tokens: enough for fast prefill. On a CPU, more tokens only take
// memory. With a device or a projector it is the whole batch, because the embeddings of an image
// may have to be computed together.
std::uint32_t most_at_once(const Options& options) {
    constexpr std::uint32_t kEnough = 128;
    const bool all = options.device != nullptr || !options.projector.empty();
    return all ? options.batch : std::min(options.batch, kEnough);
}

// Chooses flash attention and n_ubatch for a CPU. Flash attention is faster if attention.cpp
// supports the head sizes. ggml's own flash attention decodes at half the speed once 1000 tokens
// are cached, and prefills pieces of fewer than 64 tokens 10 times slower than longer ones. Without
// flash attention, the scores of each computed token for each cached token need memory, so n_ubatch
// shrinks until they fit. The choice depends only on the model and its options, so that saved
// states fit other processes.
void choose_attention(const llama_model* model, Options& options) {
    constexpr std::uint64_t kAlwaysRoom = 64 << 20; // bytes that attention scores may always take
    constexpr std::uint64_t kShare = 4;             // or 1 / kShare of the weights' size
    constexpr std::uint32_t kLeastAtOnce = 64;      // prefill is slower below this
    options.at_once = options.limits.ubatch != 0 ? options.limits.ubatch : most_at_once(options);
    if (options.device != nullptr) {
        return; // llama.cpp checks whether the device supports flash attention
    }
    if (options.flash_attention != Options::FlashAttention::Auto || options.kv_type != Options::KvType::F16) {
        return;
    }
    if (heads_are_multiples(model, kAttentionLanes)) {
        options.flash_attention = Options::FlashAttention::On;
        return;
    }
    const auto room = std::max(kAlwaysRoom, llama_model_size(model) / kShare);
    const auto each =
        static_cast<std::uint64_t>(llama_model_n_head(model)) * cells_of(options) * sizeof(float);
    const bool fixed = options.limits.ubatch != 0 || !options.projector.empty();
    const auto least = fixed ? options.at_once : std::min(options.batch, kLeastAtOnce);
    for (auto at_once = options.at_once; at_once >= least; at_once /= 2) {
        if (each * at_once <= room) {
            options.flash_attention = Options::FlashAttention::Off;
            options.at_once = at_once;
            return;
        }
    }
}

// Returns the number of logits rows of a batch: one per
// stream, plus draft tokens of a stream that is decoded alone.
std::uint32_t outputs_of(const Options& options, std::uint32_t places) {
    const auto guessed = speculates(options) ? kMostGuessed : 0;
    return std::min(places + static_cast<std::uint32_t>(guessed), options.batch);
}

// Returns the bytes of the outputs of a batch: logits, or vectors. An embedding context also has room for
// logits, whose pages are not touched unless a causal model computes them: see clear_buffer.cpp.
std::uint64_t outputs_bytes(const llama_context* context, const Options& options) {
    const auto* model = llama_get_model(context);
    const auto logits = static_cast<std::uint64_t>(llama_vocab_n_tokens(llama_model_get_vocab(model)));
    if (!embeds(options)) {
        return logits * sizeof(float) * outputs_of(options, llama_n_seq_max(context));
    }
    const bool computes_logits = llama_get_memory(context) != nullptr || !kClearsLazily;
    const auto vector = static_cast<std::uint64_t>(llama_model_n_embd_out(model));
    return (vector + (computes_logits ? logits : 0)) * sizeof(float) * options.at_once;
}

// Returns the bytes of ggml's work buffer; 0 with flash attention. Without flash attention, ggml
// converts the attention scores to f16 in it.
std::uint64_t work_of(const llama_model* model, const Options& options) {
    if (options.flash_attention != Options::FlashAttention::Off) {
        return 0;
    }
    const auto heads = static_cast<std::uint64_t>(llama_model_n_head(model));
    return heads * cells_of(options) * options.at_once * sizeof(ggml_fp16_t);
}

// Returns the type of RoPE scaling in the model's file; empty: llama.cpp's default.
std::string rope_scaling(const llama_model* model) {
    return meta(model, meta(model, "general.architecture") + ".rope.scaling.type");
}

// Waits until a context has completed its work. Returns false if that fails.
bool comes_to_rest(llama_context* context, const Loss& loss) noexcept {
    static const sotto_backend_host nobody = {};
    const auto* around = Call::current();
    const Call call(around != nullptr ? around->host() : nobody, Call::Abort::Throws, loss);
    try {
        llama_synchronize(context);
        return true;
    } catch (const std::exception& error) {
        (void)loss.told_by(error);
        return false;
    }
}

} // namespace

void FreeContext::operator()(llama_context* context) const noexcept {
    if (!loss.on_card() || (!loss.keeps_contexts() && comes_to_rest(context, loss))) {
        llama_free(context);
    }
}

void choose_form(const llama_model* model, Options& options) {
    const bool fits = fits_q8_0(model);
    if (options.small_kv) {
        const bool can = fits && options.flash_attention != Options::FlashAttention::Off;
        options.kv_type = can ? Options::KvType::Q8_0 : Options::KvType::F16;
    }
    if (!fits || options.kv_type == Options::KvType::Q8_0) {
        options.shrinkable &= ~static_cast<sotto_model_shrinkable>(SOTTO_SHRINKABLE_KV);
    }
    choose_attention(model, options);
    const auto layers =
        options.device == nullptr ? 0 : static_cast<std::uint32_t>(llama_model_n_layer(model)) + 1;
    options.gpu_layers = std::min(options.gpu_layers, layers);
    if (options.gpu_layers <= 1) {
        options.shrinkable &= ~static_cast<sotto_model_shrinkable>(SOTTO_SHRINKABLE_LAYERS);
    }
}

Context make_context(Call& call, llama_model* model, const Options& options, std::uint32_t places) {
    auto wanted = llama_context_default_params();
    wanted.n_ctx = cells_of(options) * places;
    wanted.n_seq_max = places;
    wanted.n_batch = options.batch;
    wanted.n_ubatch = options.at_once;
    wanted.n_outputs_max = outputs_of(options, places);
    wanted.kv_unified = false;
    if (embeds(options)) { // a batch of whole texts
        wanted.n_ctx = wanted.n_batch = wanted.n_outputs_max = options.at_once;
        wanted.n_seq_max = std::min(kMaxTexts, options.at_once);
        wanted.kv_unified = true;
        wanted.embeddings = true;
        wanted.pooling_type = type_of(*options.pooling);
    }
    wanted.n_threads = 1;
    wanted.n_threads_batch = 1;
    wanted.offload_kqv = options.offload_kqv;
    wanted.rope_freq_base = options.rope.base;
    wanted.rope_freq_scale = options.rope.scale;
    if (options.rope.scale != 0 && rope_scaling(model) == "none") { // llama.cpp would ignore the scale
        wanted.rope_scaling_type = LLAMA_ROPE_SCALING_TYPE_LINEAR;
    }
    wanted.flash_attn_type = flash_attention(options.flash_attention);
    wanted.type_k = kv_type(options.kv_type);
    wanted.type_v = kv_type(options.kv_type);
    call.expect_below(SOTTO_LOG_ERROR); // llama.cpp warns about sizes that the options set
    Context context(llama_init_from_model(model, wanted), FreeContext{options.loss});
    if (!context) {
        call.refuse("llama.cpp cannot make a context");
    }
    if (llama_get_memory(context.get()) == nullptr && !embeds(options)) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, kWritesNothing);
    }
    return context;
}

Memory memory_of(const llama_context* context, const Options& options) {
    Memory memory;
    if (context == nullptr) {
        return memory;
    }
    for (const auto& [type, bytes] : llama_get_memory_breakdown(context)) {
        const bool host = options.device != nullptr && !is_on_device(type);
        (host ? memory.host : memory.kv) += bytes.context;
        (host ? memory.host : memory.compute) += bytes.compute;
    }
    auto& where = options.device != nullptr ? memory.host : memory.compute;
    where += outputs_bytes(context, options); // llama.cpp reports neither outputs nor work buffer
    where += work_of(llama_get_model(context), options);
    return memory;
}

Memory weights_of(const llama_model* model, const Options& options) {
    std::set<const ggml_tensor*> counted;
    Memory memory;
    for (const auto& [name, tensor] : llama_internal_get_tensor_map(model)) {
        if (tensor->buffer != nullptr && counted.insert(tensor).second) {
            auto* type = ggml_backend_buffer_get_type(tensor->buffer);
            const bool host = options.device != nullptr && !is_on_device(type);
            (host ? memory.host : memory.weights) += GGML_PAD(
                ggml_backend_buft_get_alloc_size(type, tensor), ggml_backend_buft_get_alignment(type)
            );
        }
    }
    return memory;
}

} // namespace sotto::llama
