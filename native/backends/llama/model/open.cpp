// Opens a model, or measures the memory that it would take.
#include "model/open.hpp"

#include "embed/bf16_weights.hpp"
#include "embed/pooling.hpp"
#include "file/adapter_check.hpp"
#include "file/fingerprint.hpp"
#include "file/gguf_check.hpp"
#include "file/source.hpp"
#include "file/tensor_check.hpp"
#include "kv/kv_memory.hpp"
#include "model/card.hpp"
#include "runtime/guard.hpp"
#include "runtime/json_parts.hpp"
#include "runtime/process_end.hpp"
#include "token/tokenizer.hpp"

#include <utility>

namespace sotto::llama {
namespace {

// Progress reported to the host, 0 to 1, at the end of each part of an open.
constexpr float kCheckShare = 0.5f; // the check of the tensors, which is optional
constexpr float kWeightsShare = 0.95f;
constexpr float kDraftShare = 0.97f;    // the draft model, after the weights
constexpr float kContextsShare = 0.98f; // the contexts; the projector follows

struct Progress {
    const sotto_model_source& source;
    bool cancelled = false;

    bool tell(float done) {
        const bool unwanted = source.progress != nullptr && source.progress(source.context, done) != 0;
        cancelled = cancelled || unwanted || process_ends();
        return !cancelled;
    }
    void check(float done) {
        if (!tell(done)) {
            throw Error(SOTTO_ERROR_CANCELLED, "opening the model was cancelled");
        }
    }
};

// Returns ggml's device to compute on besides the CPU, or no device. The list ends with a null.
std::vector<ggml_backend_dev_t> devices_of(const Backend& backend, const Options& options) {
    if (options.device == nullptr) {
        return {nullptr};
    }
    auto* device = ggml_device(backend.devices, *options.device);
    if (device == nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "llama.cpp cannot compute on device '" + options.device->name + "'; use another device"
        );
    }
    return {device, nullptr};
}

// A file, and how to load it.
struct Load {
    const Backend& backend;
    const Options& options;
    Source& file;
    MappedFile& mapping;
    bool mapped = false;
    Purpose purpose = Purpose::Run;
    bool causal = true;   // see GgufFacts
    bool narrows = false; // see narrows_weights()
};

llama_load_mode load_mode(const Load& how) {
    if (how.options.mlock && how.purpose == Purpose::Run) {
        return how.mapped ? LLAMA_LOAD_MODE_MMAP_MLOCK : LLAMA_LOAD_MODE_MLOCK;
    }
    return how.mapped ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
}

// Loads the weights of a model. `begin` and `end`: progress to report at the start and the end.
Weights load(Call& call, const Load& how, Progress& progress, float begin, float end) {
    struct Part {
        Progress& progress;
        float begin;
        float end;
    } part = {progress, begin, end};
    auto devices = devices_of(how.backend, how.options);
    auto wanted = llama_model_default_params();
    wanted.devices = devices.data(); // a null pointer would select all devices
    wanted.split_mode = LLAMA_SPLIT_MODE_NONE;
    wanted.main_gpu = how.options.device == nullptr ? -1 : 0;
    wanted.n_gpu_layers =
        how.options.device == nullptr ? 0 : static_cast<std::int32_t>(how.options.gpu_layers);
    wanted.load_mode = load_mode(how);
    wanted.no_alloc = how.purpose == Purpose::Measure;
    wanted.progress_callback = [](float done, void* told) {
        const auto& within = *static_cast<Part*>(told);
        return within.progress.tell(within.begin + done * (within.end - within.begin));
    };
    wanted.progress_callback_user_data = &part;
    const MappedFile::Loading loading(how.mapping);
    if (!how.causal) {
        call.expect_below(SOTTO_LOG_ERROR); // llama.cpp warns that [SEP] of a BERT does not end answers
    }
    Weights weights(llama_model_load_from_file_ptr(how.file.file(), wanted));
    progress.check(end);
    how.mapping.check();
    if (!weights) {
        call.refuse("llama.cpp cannot load the model");
    }
    if (how.narrows) {
        narrow_weights(weights.get());
    }
    return weights;
}

void open_projector(
    Call& call, const sotto_model_source& source, Opened& opened, Purpose purpose, Progress& progress
) {
    if (opened.options.projector.empty()) {
        return;
    }
    call.expect_below(SOTTO_LOG_ERROR); // mtmd warns about known weaknesses of models
    auto facts = measure_projector(source, opened.options, opened.weights.get());
    const bool apart = opened.options.device != nullptr; // the projector computes on the CPU
    (apart ? opened.lasting.host : opened.lasting.weights) += facts.weights;
    (apart ? opened.lasting.host : opened.lasting.compute) += facts.compute;
    if (purpose == Purpose::Measure) {
        return;
    }
    const auto told = [](float done, void* context) {
        return static_cast<Progress*>(context)->tell(kContextsShare + done * (1 - kContextsShare));
    };
    opened.projector = std::make_unique<Projector>(
        opened.options, opened.weights.get(), std::move(facts.hash), told, &progress
    );
    progress.check(kContextsShare);
    if (!*opened.projector) {
        const auto reason = call.last_error("llama.cpp cannot load the projector");
        throw Error(SOTTO_ERROR_MODEL, "options.projector: " + reason);
    }
}

void check_generates(const llama_model* model) {
    const auto* vocab = llama_model_get_vocab(model);
    if (llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE || llama_model_has_encoder(model) ||
        llama_model_is_diffusion(model)) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, kWritesNothing);
    }
}

void check_rope(const llama_model* model, const Options& options) {
    if (llama_model_rope_type(model) == LLAMA_ROPE_TYPE_NONE &&
        (options.rope.base != 0 || options.rope.scale != 0)) {
        const std::string option = options.rope.base != 0 ? "rope_freq_base" : "rope_freq_scale";
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "options." + option + ": the model has no rotary position embeddings; remove the option"
        );
    }
}

void check_speculation(const llama_model* model, const Options& options) {
    if (speculates(options) && !keeps_all(model)) {
        const std::string option = options.draft.empty() ? "speculative" : "draft";
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "options." + option +
                ": not supported with the sliding window or recurrent state of this model; remove the option"
        );
    }
}

// Returns true if the file can be mapped. Weights for a device
// are read: a mapping would also keep them in host memory.
bool maps(const Options& options, const Source& file, const GgufFacts& facts, Purpose purpose) {
    return purpose == Purpose::Run && options.device == nullptr && options.mmap && file.mappable() &&
           facts.data_aligned;
}

// Checks the tensors of `file` if the options ask for that. `begin` and `end`: progress to report.
void check_numbers(
    Source& file,
    const GgufFacts& facts,
    const Options& options,
    Purpose purpose,
    Progress& progress,
    float begin,
    float end
) {
    if (options.check_tensors && purpose == Purpose::Run) {
        check_tensors(file, facts, [&](float done) { progress.check(begin + done * (end - begin)); });
    }
}

// Opens the draft model. Its context is as large as the model's, and its batch is small.
std::unique_ptr<Draft> open_draft(
    Call& call,
    const Backend& backend,
    const sotto_model_source& source,
    Opened& opened,
    Purpose purpose,
    Progress& progress
) {
    auto theirs = source;
    theirs.path = str(opened.options.draft);
    const auto file = open_source(theirs);
    const auto facts = check_gguf(*file);
    check_numbers(*file, facts, opened.options, purpose, progress, kWeightsShare, kWeightsShare);
    const bool mapped = maps(opened.options, *file, facts, purpose);
    const Load how = {backend, opened.options, *file, opened.file, mapped, purpose};
    auto weights = load(call, how, progress, kWeightsShare, kDraftShare);
    check_same_tokens(opened.weights.get(), weights.get());
    if (!keeps_all(weights.get())) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "the draft model has a sliding window or a recurrent state; use one that keeps all tokens"
        );
    }
    check_generates(weights.get());
    auto options = opened.options;
    options.batch = std::max(Draft::kAtOnce, options.parallel);
    options.limits.ubatch = 0;
    options.rope = {}; // its own file's
    choose_form(weights.get(), options);
    opened.lasting += weights_of(weights.get(), options);
    (options.device != nullptr ? opened.lasting.host : opened.lasting.weights) += facts.vocabulary;
    return std::make_unique<Draft>(std::move(weights), options);
}

// llama.cpp describes a model as "<architecture> <size>
// <quantisation>". Only the last part has spaces.
std::string quantisation(const llama_model* model) {
    char text[256] = "";
    llama_model_desc(model, text, sizeof text);
    std::string_view rest = text;
    for (int words = 0; words < 2; ++words) {
        rest.remove_prefix(std::min(rest.size(), rest.find(' ') + 1));
    }
    return std::string(rest);
}

std::string describe(const llama_model* model, const GgufFacts& facts, const Options& options) {
    Json description = {
        {"architecture", facts.architecture},
        {"name", meta(model, "general.name")},
        {"parameters", llama_model_n_params(model)},
        {"quantization", quantisation(model)},
        {"size", llama_model_size(model)},
        {"layers", llama_model_n_layer(model)},
        {"heads", llama_model_n_head(model)},
        {"kv_heads", llama_model_n_head_kv(model)},
        {"vocabulary", llama_vocab_n_tokens(llama_model_get_vocab(model))},
        {"trained_context", llama_model_n_ctx_train(model)},
        {"has_chat_template", llama_model_chat_template(model, nullptr) != nullptr},
        {"device", options.device == nullptr ? "cpu" : options.device->name},
    };
    if (options.device != nullptr) {
        description["gpu_layers"] = options.gpu_layers;
    }
    if (embeds(options)) {
        description["pooling"] = name_of(*options.pooling);
        description["dimensions"] = values_of(model, options);
    }
    description.update(card_of(model));
    return text_of(description);
}

// Loads the weights and the draft model, and creates the contexts and the projector.
void open_parts(
    Call& call,
    const Load& how,
    const sotto_model_source& source,
    const GgufFacts& facts,
    Progress& progress,
    Opened& opened
) {
    check_numbers(how.file, facts, how.options, how.purpose, progress, 0, kCheckShare);
    opened.weights = load(call, how, progress, how.options.check_tensors ? kCheckShare : 0, kWeightsShare);
    auto* model = opened.weights.get();
    check_rope(model, opened.options);
    opened.options.pooling = pooling_of(model, opened.options);
    if (embeds(opened.options)) {
        choose_embedding_form(model, opened.options);
    } else {
        check_speculation(model, opened.options);
        check_generates(model);
        choose_form(model, opened.options);
    }
    opened.lasting = weights_of(model, opened.options);
    auto& vocabulary = opened.options.device != nullptr ? opened.lasting.host : opened.lasting.weights;
    vocabulary += facts.vocabulary + text_bytes_of(llama_model_get_vocab(model));
    std::unique_ptr<Draft> draft;
    if (!opened.options.draft.empty()) {
        for_draft([&] { draft = open_draft(call, how.backend, source, opened, how.purpose, progress); });
    }
    opened.contexts = std::make_unique<Contexts>(model, opened.options, std::move(draft));
    opened.contexts->resize(call, opened.options.places);
    progress.check(kContextsShare);
    open_projector(call, source, opened, how.purpose, progress);
}

} // namespace

Opened open_model(const Backend& backend, const sotto_model_source& source, Purpose purpose) {
    const Device* device = choose_device(backend.devices, view(source.device));
    Progress progress{source};
    progress.check(0);
    const auto file = open_source(source);
    const auto facts = check_gguf(*file);
    Opened opened;
    opened.options = read_options(source, facts.trained_context);
    opened.options.device = device;
    opened.options.loss = device != nullptr ? loss_of(*device) : Loss();

    Call call(backend.host, Call::Abort::Throws, opened.options.loss);
    const bool narrows = purpose == Purpose::Run && narrows_weights(facts, opened.options);
    const bool mapped = !narrows && maps(opened.options, *file, facts, purpose);
    const Load how = {backend, opened.options, *file, opened.file, mapped, purpose, facts.causal, narrows};
    try {
        open_parts(call, how, source, facts, progress, opened);
    } catch (const std::exception& error) {
        throw_if_lost(error);
        throw;
    }
    opened.description = describe(opened.weights.get(), facts, opened.options);
    if (purpose == Purpose::Run && !embeds(opened.options)) {
        opened.fingerprint = fingerprint(*file, opened.options);
    }
    opened.file.check();
    progress.check(1);
    opened.poll = [&source] { Progress{source}.check(1); };
    return opened;
}

sotto_model_info info_of(const Opened& opened) {
    const auto& options = opened.options;
    const bool on_device = options.device != nullptr;
    const bool flash = options.flash_attention != Options::FlashAttention::Off;
    auto memory = opened.lasting;
    memory += opened.contexts->memory();
    auto info = sotto_init<sotto_model_info>();
    info.capabilities = SOTTO_CAPABILITY_BATCHABLE | SOTTO_CAPABILITY_PARKABLE | SOTTO_CAPABILITY_PREPARABLE;
    if (embeds(options)) {
        info.operations = SOTTO_OPERATION_TOKENIZE | SOTTO_OPERATION_DETOKENIZE;
        info.operations |=
            options.pooling == Options::Pooling::Rank ? SOTTO_OPERATION_RERANK : SOTTO_OPERATION_EMBED;
    } else {
        info.capabilities |=
            SOTTO_CAPABILITY_CONSTRAINABLE | SOTTO_CAPABILITY_LOGPROBS | SOTTO_CAPABILITY_TOKENS;
    }
    // a device completes each graph that it has begun
    info.capabilities |= on_device ? 0 : SOTTO_CAPABILITY_ABORTABLE;
    info.streams = opened.contexts->slots();
    info.context = options.context;
    info.step_tokens = options.batch;
    constexpr std::uint32_t kMinFlash = 64; // tokens; fewer are slower, see choose_attention()
    info.min_step_tokens = flash && !on_device && !embeds(options) ? std::min(kMinFlash, options.batch) : 0;
    info.weights = memory.weights;
    info.kv = memory.kv;
    info.compute = memory.compute;
    info.description = str(opened.description);
    info.fingerprint = str(opened.fingerprint);
    info.shrinkable = options.shrinkable;
    if (!embeds(options)) {
        info.shrinkable |= SOTTO_SHRINKABLE_PLACES;
    }
    info.min_stream_tokens = options.min_context;
    info.host = memory.host;
    info.layers = options.gpu_layers;
    return info;
}

} // namespace sotto::llama
