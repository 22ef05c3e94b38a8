// Chooses how the token vectors of an embedding model become the vector of a text, or stay as they are.
#include "embed/pooling.hpp"

#include "model/weights.hpp"
#include "runtime/fence.hpp"

#include <algorithm>

namespace sotto::llama {
namespace {

using Pooling = Options::Pooling;

[[noreturn]] void refuse_model(const std::string& why) {
    throw Error(SOTTO_ERROR_UNSUPPORTED, why);
}

bool has_tensor(const llama_model* model, std::string_view name) {
    const auto& tensors = llama_internal_get_tensor_map(model);
    return std::any_of(tensors.begin(), tensors.end(), [&](const auto& one) { return one.first == name; });
}

// Returns true if the model has a head that computes a score from a text's vector.
bool ranks(const llama_model* model) {
    return has_tensor(model, "cls.weight") || has_tensor(model, "cls.output.weight");
}

// Returns the pooling that the model's file names. None if the file names none, or one that is unknown.
Pooling pooling_in_file(const llama_model* model) {
    const auto type = meta(model, meta(model, "general.architecture") + ".pooling_type");
    for (const auto pooling : {Pooling::Mean, Pooling::Cls, Pooling::Last, Pooling::Rank}) {
        if (type == std::to_string(type_of(pooling))) {
            return pooling;
        }
    }
    return Pooling::None;
}

void check_embeds(const llama_model* model, Pooling pooling) {
    const auto type = llama_vocab_type(llama_model_get_vocab(model));
    if (type == LLAMA_VOCAB_TYPE_NONE || llama_model_has_encoder(model) || llama_model_is_diffusion(model)) {
        refuse_model("the model cannot embed texts; use an encoder such as BERT, or a causal language model");
    }
    const auto* vocab = llama_model_get_vocab(model);
    if (type == LLAMA_VOCAB_TYPE_WPM &&
        (llama_vocab_bos(vocab) == LLAMA_TOKEN_NULL || llama_vocab_sep(vocab) == LLAMA_TOKEN_NULL)) {
        throw Error(
            SOTTO_ERROR_MODEL,
            "the model's vocabulary lacks a token for the start or the end of a text: convert the model again"
        );
    }
    if (llama_model_is_recurrent(model) || llama_model_is_hybrid(model)) {
        refuse_model(
            "options.pooling: not supported with the recurrent state of this model; remove the option"
        );
    }
    if (pooling == Pooling::Rank && !ranks(model)) {
        refuse_model(invalid(
            "options.pooling",
            "rank",
            "\"mean\", \"cls\", \"last\" or \"none\", because the model has no classification head"
        ));
    }
}

// Throws for an option that only models that generate text have.
void check_options(const Options& options) {
    const std::pair<const char*, bool> set[] = {
        {"speculative", options.speculative != Options::Speculative::Off},
        {"draft", !options.draft.empty()},
        {"projector", !options.projector.empty()},
        {"chat_template", !options.chat_template.empty()},
        {"kv_type", options.kv_type != Options::KvType::F16},
        {"ubatch", options.limits.ubatch != 0},
    };
    for (const auto& [name, is_set] : set) {
        if (is_set) {
            refuse_model(
                std::string("options.") + name + ": not supported by a model that embeds; remove the option"
            );
        }
    }
}

} // namespace

const char* name_of(Pooling pooling) {
    switch (pooling) {
    case Pooling::Mean:
        return "mean";
    case Pooling::Cls:
        return "cls";
    case Pooling::Last:
        return "last";
    case Pooling::Rank:
        return "rank";
    default:
        return "none";
    }
}

enum llama_pooling_type type_of(Pooling pooling) {
    switch (pooling) {
    case Pooling::Mean:
        return LLAMA_POOLING_TYPE_MEAN;
    case Pooling::Cls:
        return LLAMA_POOLING_TYPE_CLS;
    case Pooling::Last:
        return LLAMA_POOLING_TYPE_LAST;
    case Pooling::Rank:
        return LLAMA_POOLING_TYPE_RANK;
    default:
        return LLAMA_POOLING_TYPE_NONE;
    }
}

Pooling pooling_of(const llama_model* model, const Options& options) {
    const auto pooling = options.pooling.value_or(pooling_in_file(model));
    if (pooling != Pooling::None) {
        check_embeds(model, pooling);
        return pooling;
    }
    const auto causal = meta(model, meta(model, "general.architecture") + ".attention.causal");
    if (causal == "false" && !llama_model_has_encoder(model) && !llama_model_is_diffusion(model)) {
        refuse_model(
            "the model embeds texts, but its file names no pooling; set options.pooling to \"mean\", "
            "\"cls\", \"last\" or \"none\""
        );
    }
    return Pooling::None;
}

void choose_embedding_form(const llama_model* model, Options& options) {
    constexpr std::uint32_t kStreams = 32; // a stream takes no memory of the context
    check_options(options);
    if ((options.shrinkable & SOTTO_SHRINKABLE_STREAMS) != 0) {
        options.parallel = options.places = kStreams;
    }
    const auto layers =
        options.device == nullptr ? 0 : static_cast<std::uint32_t>(llama_model_n_layer(model)) + 1;
    options.gpu_layers = std::min(options.gpu_layers, layers);
    const auto kept = SOTTO_SHRINKABLE_TOKENS | SOTTO_SHRINKABLE_LAYERS;
    options.shrinkable &=
        static_cast<sotto_model_shrinkable>(options.gpu_layers > 1 ? kept : SOTTO_SHRINKABLE_TOKENS);
    options.at_once = std::max(options.batch, options.context); // a text is computed at once
    if (options.flash_attention == Options::FlashAttention::Auto && options.device == nullptr) {
        options.flash_attention = Options::FlashAttention::On;
    }
}

std::size_t values_of(const llama_model* model, const Options& options) {
    const bool ranks = options.pooling == Pooling::Rank;
    return ranks ? llama_model_n_cls_out(model) : static_cast<std::size_t>(llama_model_n_embd_out(model));
}

} // namespace sotto::llama
