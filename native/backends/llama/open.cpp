// Opens a model, or finds out what it would take.
#include "file/fingerprint.hpp"
#include "guard.hpp"
#include "json_parts.hpp"
#include "model.hpp"

#include <ggml-backend.h>
#include <llama-ext.h>
#include <set>
#include <utility>
#include <vector>

// Declared in llama.cpp's llama-model.h, which brings all of its insides.
const std::vector<std::pair<std::string, ggml_tensor*>>&
llama_internal_get_tensor_map(const llama_model* model);

namespace sotto::llama {
namespace {

// llama.cpp's part of an open, as the host sees it go on. A context comes after the weights.
constexpr float kWeightsShare = 0.95f;
constexpr float kContextShare = 0.97f; // a draft model after that
constexpr float kDraftShare = 0.98f;   // and then a projector

struct Progress {
    const sotto_model_source& source;
    bool cancelled = false;

    bool tell(float done) {
        if (source.progress != nullptr && source.progress(source.context, done) != 0) {
            cancelled = true;
        }
        return !cancelled;
    }
    void check(float done) {
        if (!tell(done)) {
            throw Error(SOTTO_ERROR_CANCELLED, "opening the model was cancelled");
        }
    }
};

[[noreturn]] void refuse(const Call& call, std::string_view otherwise) {
    const auto reason = call.last_error(otherwise);
    const bool memory = reason.find("alloc") != std::string::npos;
    throw Error(memory ? SOTTO_ERROR_MEMORY : SOTTO_ERROR_MODEL, reason);
}

void check_device(const sotto_model_source& source) {
    const auto device = view(source.device);
    if (!device.empty() && device != "auto" && device != "cpu") {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "this build of the llama backend computes on \"cpu\", not on \"" + std::string(device) + "\""
        );
    }
}

// `begin` and `end`: of all progress, what this is.
Weights
load(Call& call, Source& file, bool mapped, Purpose purpose, Progress& progress, float begin, float end) {
    struct Part {
        Progress& progress;
        float begin;
        float end;
    } part = {progress, begin, end};
    auto wanted = llama_model_default_params();
    wanted.n_gpu_layers = 0;
    wanted.load_mode = mapped ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
    wanted.no_alloc = purpose == Purpose::Measure;
    wanted.progress_callback = [](float done, void* told) {
        const auto& within = *static_cast<Part*>(told);
        return within.progress.tell(within.begin + done * (within.end - within.begin));
    };
    wanted.progress_callback_user_data = &part;
    Weights weights(llama_model_load_from_file_ptr(file.file(), wanted));
    progress.check(end);
    if (!weights) {
        refuse(call, "llama.cpp cannot load the model");
    }
    return weights;
}

void open_projector(
    Call& call, const sotto_model_source& source, Opened& opened, Purpose purpose, Progress& progress
) {
    if (opened.options.projector.empty()) {
        return;
    }
    call.expect_below(SOTTO_LOG_ERROR); // it warns of what its models are known for
    const auto memory = measure_projector(source, opened.options, opened.weights.get());
    opened.memory.weights += memory.weights;
    opened.memory.compute += memory.compute;
    if (purpose == Purpose::Measure) {
        return;
    }
    const auto told = [](float done, void* context) {
        return static_cast<Progress*>(context)->tell(kDraftShare + done * (1 - kDraftShare));
    };
    opened.projector = std::make_unique<Projector>(opened.options, opened.weights.get(), told, &progress);
    progress.check(kDraftShare);
    if (!*opened.projector) {
        const auto reason = call.last_error("llama.cpp cannot load it");
        throw Error(SOTTO_ERROR_MODEL, "option \"projector\": " + reason);
    }
}

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

// What one stream holds, as llama.cpp rounds it up.
std::uint32_t cells_of(const Options& options) {
    constexpr std::uint32_t kAtOnce = 256;
    return (options.context + kAtOnce - 1) / kAtOnce * kAtOnce;
}

// On a CPU, llama.cpp's flash attention speaks at half the speed once a thousand tokens are remembered, and
// reads pieces of less than 64 tokens ten times slower than longer ones. Without it, there must be room for
// how much each token that is computed heeds each that is remembered: then fewer are computed at once. What
// is chosen hangs on the model and its options alone, so that saved states fit elsewhere.
void choose_attention(const llama_model* model, Options& options) {
    constexpr std::uint64_t kAlwaysRoom = 64 << 20;
    constexpr std::uint64_t kShare = 4;        // of the weights
    constexpr std::uint32_t kLeastAtOnce = 64; // below, prompts are read more slowly
    options.at_once = options.batch;
    if (options.flash_attention != Options::FlashAttention::Auto || options.kv_type != Options::KvType::F16) {
        return;
    }
    const auto room = std::max(kAlwaysRoom, llama_model_size(model) / kShare);
    const auto each =
        static_cast<std::uint64_t>(llama_model_n_head(model)) * cells_of(options) * sizeof(float);
    for (auto at_once = options.batch; at_once >= std::min(options.batch, kLeastAtOnce); at_once /= 2) {
        if (each * at_once <= room) {
            options.flash_attention = Options::FlashAttention::Off;
            options.at_once = at_once;
            return;
        }
    }
}

// Places of a batch that tokens are chosen for: one per stream, and guesses about one that speaks alone.
std::uint32_t outputs_of(const Options& options) {
    const auto guessed = options.speculates() ? kMostGuessed : 0;
    return std::min(options.parallel + static_cast<std::uint32_t>(guessed), options.batch);
}

Context make_context(Call& call, llama_model* model, const Options& options) {
    auto wanted = llama_context_default_params();
    wanted.n_ctx = cells_of(options) * options.parallel;
    wanted.n_seq_max = options.parallel;
    wanted.n_batch = options.batch;
    wanted.n_ubatch = options.at_once;
    wanted.n_outputs_max = outputs_of(options);
    wanted.kv_unified = false;
    wanted.n_threads = 1;
    wanted.n_threads_batch = 1;
    wanted.flash_attn_type = flash_attention(options.flash_attention);
    wanted.type_k = kv_type(options.kv_type);
    wanted.type_v = kv_type(options.kv_type);
    call.expect_below(SOTTO_LOG_ERROR); // it warns of sizes, which the options chose
    Context context(llama_init_from_model(model, wanted));
    if (!context) {
        refuse(call, "llama.cpp cannot make a context");
    }
    return context;
}

void check_generates(const llama_model* model, const llama_context* context) {
    const auto* vocab = llama_model_get_vocab(model);
    if (llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE || llama_model_has_encoder(model) ||
        llama_model_is_diffusion(model) || llama_get_memory(context) == nullptr) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, "the model is none that writes text token by token");
    }
}

void check_speculation(const llama_model* model, const Options& options) {
    if (options.speculates() && !keeps_all(model)) {
        const std::string option = options.draft.empty() ? "speculative" : "draft";
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "option \"" + option +
                "\" asks for guesses, and this model's memory cannot take back wrong ones, for it has a "
                "sliding "
                "window or a recurrent state; leave the option out"
        );
    }
}

// What the tensors take where they are kept. llama.cpp's own figure counts a mapped file whole, also the
// parts that were copied out of it into another layout.
std::uint64_t bytes_of_weights(const llama_model* model) {
    std::set<const ggml_tensor*> counted;
    std::uint64_t bytes = 0;
    for (const auto& [name, tensor] : llama_internal_get_tensor_map(model)) {
        if (tensor->buffer != nullptr && counted.insert(tensor).second) {
            auto* type = ggml_backend_buffer_get_type(tensor->buffer);
            bytes += GGML_PAD(
                ggml_backend_buft_get_alloc_size(type, tensor), ggml_backend_buft_get_alignment(type)
            );
        }
    }
    return bytes;
}

Memory memory_of(const llama_model* model, const llama_context* context, const Options& options) {
    Memory memory;
    memory.weights = bytes_of_weights(model);
    for (const auto& [type, bytes] : llama_get_memory_breakdown(context)) {
        memory.kv += bytes.context;
        memory.compute += bytes.compute;
    }
    const auto logits = static_cast<std::uint64_t>(llama_vocab_n_tokens(llama_model_get_vocab(model)));
    memory.compute += logits * sizeof(float) * outputs_of(options); // which llama.cpp leaves out
    return memory;
}

// The draft model, as large a context as the model's and a small batch.
void open_draft(
    Call& call, const sotto_model_source& source, Opened& opened, Purpose purpose, Progress& progress
) {
    auto theirs = source;
    theirs.path = str(opened.options.draft);
    const auto file = open_source(theirs);
    const auto facts = check_gguf(*file);
    const bool mapped =
        purpose == Purpose::Run && opened.options.mmap && file->mappable() && facts.data_aligned;
    auto weights = load(call, *file, mapped, purpose, progress, kContextShare, kDraftShare);
    check_same_tokens(opened.weights.get(), weights.get());
    if (!keeps_all(weights.get())) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "it has a sliding window or a recurrent state; take one that keeps each token"
        );
    }
    auto options = opened.options;
    options.batch = std::max(Draft::kAtOnce, options.parallel);
    choose_attention(weights.get(), options);
    auto context = make_context(call, weights.get(), options);
    check_generates(weights.get(), context.get());
    const auto memory = memory_of(weights.get(), context.get(), options);
    opened.memory.weights += memory.weights;
    opened.memory.kv += memory.kv;
    opened.memory.compute += memory.compute;
    opened.draft = std::make_unique<Draft>(std::move(weights), std::move(context), options.parallel);
}

void add_draft(
    Call& call, const sotto_model_source& source, Opened& opened, Purpose purpose, Progress& progress
) {
    if (opened.options.draft.empty()) {
        return;
    }
    try {
        open_draft(call, source, opened, purpose, progress);
    } catch (const Error& error) {
        if (error.status() == SOTTO_ERROR_CANCELLED) {
            throw;
        }
        throw Error(error.status(), std::string("option \"draft\": ") + error.what());
    }
}

std::string meta(const llama_model* model, const char* key) {
    char text[256] = "";
    llama_model_meta_val_str(model, key, text, sizeof text);
    return text;
}

// llama.cpp describes a model as "<architecture> <size> <quantisation>", where only the last has spaces.
std::string quantisation(const llama_model* model) {
    char text[256] = "";
    llama_model_desc(model, text, sizeof text);
    std::string_view rest = text;
    for (int words = 0; words < 2; ++words) {
        rest.remove_prefix(std::min(rest.size(), rest.find(' ') + 1));
    }
    return std::string(rest);
}

std::string describe(const llama_model* model, const GgufFacts& facts) {
    const Json description = {
        {"architecture", facts.architecture},
        {"name", meta(model, "general.name")},
        {"parameters", llama_model_n_params(model)},
        {"quantization", quantisation(model)},
        {"size", llama_model_size(model)},
        {"layers", llama_model_n_layer(model)},
        {"vocabulary", llama_vocab_n_tokens(llama_model_get_vocab(model))},
        {"trained_context", llama_model_n_ctx_train(model)},
        {"has_chat_template", llama_model_chat_template(model, nullptr) != nullptr},
    };
    return text_of(description);
}

} // namespace

Opened open_model(const Backend& backend, const sotto_model_source& source, Purpose purpose) {
    check_device(source);
    Progress progress{source};
    progress.check(0);
    const auto file = open_source(source);
    const auto facts = check_gguf(*file);
    Opened opened;
    opened.options = read_options(view(source.options), facts.trained_context);
    const bool mapped =
        purpose == Purpose::Run && opened.options.mmap && file->mappable() && facts.data_aligned;

    Call call(backend.host, Call::Abort::Throws);
    opened.weights = load(call, *file, mapped, purpose, progress, 0, kWeightsShare);
    auto* model = opened.weights.get();
    check_speculation(model, opened.options);
    choose_attention(model, opened.options);
    opened.context = make_context(call, model, opened.options);
    check_generates(model, opened.context.get());
    opened.memory = memory_of(model, opened.context.get(), opened.options);
    add_draft(call, source, opened, purpose, progress);
    open_projector(call, source, opened, purpose, progress);
    opened.description = describe(model, facts);
    if (purpose == Purpose::Run) {
        opened.fingerprint = fingerprint(*file, opened.options);
    }
    progress.check(1);
    return opened;
}

} // namespace sotto::llama
