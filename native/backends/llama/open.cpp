// Opens a model, or finds out what it would take.
#include "file/fingerprint.hpp"
#include "guard.hpp"
#include "json_parts.hpp"
#include "model.hpp"

#include <utility>

namespace sotto::llama {
namespace {

// llama.cpp's part of an open, as the host sees it go on.
constexpr float kWeightsShare = 0.95f;
constexpr float kDraftShare = 0.97f;    // a draft model after the weights
constexpr float kContextsShare = 0.98f; // and then a projector

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
        call.refuse("llama.cpp cannot load the model");
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
    opened.lasting.weights += memory.weights;
    opened.lasting.compute += memory.compute;
    if (purpose == Purpose::Measure) {
        return;
    }
    const auto told = [](float done, void* context) {
        return static_cast<Progress*>(context)->tell(kContextsShare + done * (1 - kContextsShare));
    };
    opened.projector = std::make_unique<Projector>(opened.options, opened.weights.get(), told, &progress);
    progress.check(kContextsShare);
    if (!*opened.projector) {
        const auto reason = call.last_error("llama.cpp cannot load it");
        throw Error(SOTTO_ERROR_MODEL, "option \"projector\": " + reason);
    }
}

void check_generates(const llama_model* model) {
    const auto* vocab = llama_model_get_vocab(model);
    if (llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE || llama_model_has_encoder(model) ||
        llama_model_is_diffusion(model)) {
        throw Error(SOTTO_ERROR_UNSUPPORTED, kWritesNothing);
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

// Whatever goes wrong with the draft model is that option's fault.
template <typename Body>
void for_draft(Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        if (error.status() == SOTTO_ERROR_CANCELLED) {
            throw;
        }
        throw Error(error.status(), std::string("option \"draft\": ") + error.what());
    }
}

// The draft model, whose context will be as large as the model's, and its batch small.
void open_draft(
    Call& call, const sotto_model_source& source, Opened& opened, Purpose purpose, Progress& progress
) {
    auto theirs = source;
    theirs.path = str(opened.options.draft);
    const auto file = open_source(theirs);
    const auto facts = check_gguf(*file);
    const bool mapped =
        purpose == Purpose::Run && opened.options.mmap && file->mappable() && facts.data_aligned;
    auto weights = load(call, *file, mapped, purpose, progress, kWeightsShare, kDraftShare);
    check_same_tokens(opened.weights.get(), weights.get());
    if (!keeps_all(weights.get())) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "it has a sliding window or a recurrent state; take one that keeps each token"
        );
    }
    check_generates(weights.get());
    auto options = opened.options;
    options.batch = std::max(Draft::kAtOnce, options.parallel);
    choose_form(weights.get(), options);
    opened.lasting.weights += bytes_of_weights(weights.get()) + facts.vocabulary;
    opened.draft = std::make_unique<Draft>(std::move(weights), options);
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
    opened.options = read_options(source, facts.trained_context);
    const bool mapped =
        purpose == Purpose::Run && opened.options.mmap && file->mappable() && facts.data_aligned;

    Call call(backend.host, Call::Abort::Throws);
    opened.weights = load(call, *file, mapped, purpose, progress, 0, kWeightsShare);
    auto* model = opened.weights.get();
    check_speculation(model, opened.options);
    check_generates(model);
    choose_form(model, opened.options);
    opened.lasting.weights = bytes_of_weights(model) + facts.vocabulary;
    if (!opened.options.draft.empty()) {
        for_draft([&] { open_draft(call, source, opened, purpose, progress); });
    }
    make_places(call, opened, opened.options.places);
    progress.check(kContextsShare);
    open_projector(call, source, opened, purpose, progress);
    opened.description = describe(model, facts);
    if (purpose == Purpose::Run) {
        opened.fingerprint = fingerprint(*file, opened.options);
    }
    progress.check(1);
    return opened;
}

void make_places(Call& call, Opened& opened, std::uint32_t places) {
    call.expect_below(SOTTO_LOG_ERROR); // contexts tell how large they came to be
    opened.places = 0;
    opened.context.reset();
    if (opened.draft) {
        opened.draft->forget();
    }
    if (places == 0) {
        return;
    }
    auto context = make_context(call, opened.weights.get(), opened.options, places);
    if (opened.draft) {
        for_draft([&] { opened.draft->remember(call, places); });
    }
    opened.context = std::move(context);
    opened.places = places;
}

Memory memory_of(const Opened& opened) {
    auto memory = opened.lasting;
    memory += memory_of(opened.context.get(), opened.options);
    if (opened.draft) {
        memory += opened.draft->memory();
    }
    return memory;
}

} // namespace sotto::llama
