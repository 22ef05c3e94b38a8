// A multimodal projector: encodes images and sounds into embeddings.
#include "media/projector.hpp"

#include "devices/cpu/threads.hpp"
#include "file/fingerprint.hpp"
#include "file/gguf_check.hpp"
#include "runtime/guard.hpp"

#include <clip.h>
#include <ggml-backend.h>
#include <mutex>

namespace {

// Checks row lookups, whose indices depend on the image: ggml terminates the process if a table has too few
// rows.
void check_rows(ggml_cgraph* graph) {
    for (int i = 0; i < ggml_graph_n_nodes(graph); ++i) {
        const auto* node = ggml_graph_node(graph, i);
        const auto* rows = node->src[1];
        if (node->op != GGML_OP_GET_ROWS || rows->op != GGML_OP_NONE || rows->type != GGML_TYPE_I32 ||
            rows->data == nullptr || !ggml_is_contiguous(rows)) {
            continue;
        }
        const auto* indexes = static_cast<const std::int32_t*>(rows->data);
        for (std::int64_t at = 0; at < ggml_nelements(rows); ++at) {
            if (indexes[at] < 0 || indexes[at] >= node->src[0]->ne[1]) {
                throw sotto::llama::Error(
                    SOTTO_ERROR_MODEL,
                    "invalid tensor '" + std::string(node->src[0]->name) + "' with " +
                        std::to_string(node->src[0]->ne[1]) + " rows: row " + std::to_string(indexes[at]) +
                        " is out of range; convert the projector again"
                );
            }
        }
    }
}

thread_local const sotto::llama::EncoderStep* encoder_step = nullptr;

} // namespace

// mtmd calls this instead of ggml_backend_sched_graph_compute().
extern "C" ggml_status sotto_compute_encoder(ggml_backend_sched_t schedule, ggml_cgraph* graph) {
    using namespace sotto::llama;
    check_rows(graph);
    const Call call(Call::current()->host(), Call::Abort::Dies);
    const auto* step = encoder_step;
    auto* cpu = ggml_backend_sched_get_backend(schedule, ggml_backend_sched_get_n_backends(schedule) - 1);
    ggml_backend_cpu_set_n_threads(cpu, step->threads);
    ggml_backend_cpu_set_threadpool(cpu, step->pool);
    ggml_backend_cpu_set_abort_callback(cpu, step->gate, step->context);
    return ggml_backend_sched_graph_compute(schedule, graph);
}

namespace sotto::llama {
namespace {

// Redirects mtmd's log from the console to llama.cpp's callback. Runs once, because engines may open
// projectors concurrently.
void take_over_log() {
    static std::once_flag once;
    std::call_once(once, [] {
        ggml_log_callback log = nullptr;
        void* context = nullptr;
        llama_log_get(&log, &context);
        mtmd_log_set(log, context);
    });
}

mtmd_context_params wanted_params(const Options& options) {
    take_over_log();
    auto wanted = mtmd_context_params_default();
    wanted.use_gpu = false;
    wanted.print_timings = false;
    wanted.n_threads = 1; // each step sets its own number of threads
    wanted.image_max_tokens = options.image_tokens == 0 ? -1 : static_cast<int>(options.image_tokens);
    return wanted;
}

struct FreeEncoder {
    void operator()(clip_ctx* encoder) const noexcept { clip_free(encoder); }
};
using Encoder = std::unique_ptr<clip_ctx, FreeEncoder>;

// Estimates the memory of a file's encoders by creating them without weights. mtmd itself checks whether
// encoders fit the model only after it has created them, and leaks encoders that do not fit.
std::uint64_t bytes_of(const Options& options, const llama_model* model) {
    const auto wanted = wanted_params(options);
    clip_context_params params = {};
    params.flash_attn_type = CLIP_FLASH_ATTN_TYPE_AUTO;
    params.image_min_tokens = wanted.image_min_tokens;
    params.image_max_tokens = wanted.image_max_tokens;
    params.warmup = true;
    params.no_alloc = true;
    const auto made = clip_init(options.projector.c_str(), params);
    std::uint64_t bytes = 0;
    const Encoder encoders[] = {Encoder(made.ctx_v), Encoder(made.ctx_a), Encoder(made.ctx_gen_a)};
    for (const auto& encoder : encoders) {
        if (!encoder) {
            continue;
        }
        for (const auto& [device, size] : clip_get_mem_usage(encoder.get())) {
            bytes += size;
        }
        const auto width = clip_n_mmproj_embd(encoder.get());
        if (width != llama_model_n_embd_inp(model)) {
            throw Error(
                SOTTO_ERROR_MODEL,
                "the projector makes embeddings of " + std::to_string(width) + " numbers; expected " +
                    std::to_string(llama_model_n_embd_inp(model)) + "; use the projector of this model"
            );
        }
    }
    if (bytes == 0) {
        throw Error(SOTTO_ERROR_MODEL, Call::current()->last_error("llama.cpp cannot load the projector"));
    }
    return bytes;
}

struct FreeMtmd {
    void operator()(mtmd_bitmap* bitmap) const noexcept { mtmd_bitmap_free(bitmap); }
    void operator()(mtmd_input_chunks* chunks) const noexcept { mtmd_input_chunks_free(chunks); }
};
using Bitmap = std::unique_ptr<mtmd_bitmap, FreeMtmd>;
using Chunks = std::unique_ptr<mtmd_input_chunks, FreeMtmd>;

struct Gate {
    const EncoderStep& step;
    Call& call;
    bool closed;
};

bool on_gate(void* context) {
    auto& gate = *static_cast<Gate*>(context);
    gate.closed = gate.closed || gate.step.gate(gate.step.context);
    if (gate.closed) {
        gate.call.expect_below(0); // mtmd logs a cancelled image as an error
    }
    return gate.closed;
}

} // namespace

ProjectorFacts
measure_projector(const sotto_model_source& source, const Options& options, const llama_model* model) {
    if (source.files != nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "options.projector: llama.cpp reads projectors from the file system only; remove the option, or "
            "the host's file access"
        );
    }
    ProjectorFacts facts;
    try {
        auto at = source;
        at.path = str(options.projector);
        const auto file = open_source(at);
        facts.weights = check_gguf(*file, GgufKind::Projector).weights;
        const auto all = bytes_of(options, model);
        facts.weights = std::min(facts.weights, all);
        facts.hash = file_hash(*file);
        facts.compute = all - facts.weights;
    } catch (const Error& error) {
        throw Error(error.status(), std::string("options.projector: ") + error.what());
    }
    return facts;
}

Projector::Projector(
    const Options& options,
    const llama_model* model,
    std::string hash,
    mtmd_progress_callback progress,
    void* context
)
    : width_(static_cast<std::size_t>(llama_model_n_embd_inp(model))), hash_(std::move(hash)) {
    auto wanted = wanted_params(options);
    wanted.progress_callback = progress;
    wanted.progress_callback_user_data = context;
    context_.reset(mtmd_init_from_file(options.projector.c_str(), model, wanted));
}

std::uint32_t Projector::sample_rate() const noexcept {
    return static_cast<std::uint32_t>(std::max(1, mtmd_get_audio_sample_rate(context_.get())));
}

Pieces Projector::cut(const Picture& picture, const std::string& path) const {
    const Bitmap bitmap(mtmd_bitmap_init(picture.width, picture.height, picture.pixels.data()));
    return cut(bitmap.get(), path);
}

Pieces Projector::cut(const std::vector<float>& sound, const std::string& path) const {
    constexpr std::uint32_t kHelpers = 3; // threads that mtmd starts for its spectrogram
    require_threads(kHelpers);
    const Bitmap bitmap(mtmd_bitmap_init_from_audio(sound.size(), sound.data()));
    return cut(bitmap.get(), path);
}

Pieces Projector::cut(const mtmd_bitmap* bitmap, const std::string& path) const {
    Call call(Call::current()->host(), Call::Abort::Throws);
    call.expect_below(0); // errors here are the request's fault
    const std::lock_guard lock(cutting_);
    const Chunks chunks(mtmd_input_chunks_init());
    const mtmd_input_part part = {nullptr, bitmap};
    const mtmd_input_part* parts[] = {&part};
    if (mtmd_tokenize_from_parts(context_.get(), chunks.get(), parts, 1, false) != 0) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid " + path + ": expected an image or sound that the projector reads (" +
                call.last_error("unknown reason") + ")"
        );
    }
    Pieces pieces;
    for (std::size_t i = 0; i < mtmd_input_chunks_size(chunks.get()); ++i) {
        pieces.push_back(piece_of(mtmd_input_chunks_get(chunks.get(), i)));
    }
    return pieces;
}

Piece Projector::piece_of(const mtmd_input_chunk* chunk) const {
    Piece piece;
    if (mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_TEXT) {
        std::size_t count = 0;
        const auto* tokens = mtmd_input_chunk_get_tokens_text(chunk, &count);
        piece.tokens.assign(tokens, tokens + count);
        return piece;
    }
    auto& stretch = piece.stretch;
    stretch.chunk = Chunk(mtmd_input_chunk_copy(chunk), FreeChunk());
    stretch.tokens = mtmd_input_chunk_get_n_tokens(chunk);
    stretch.positions = mtmd_input_chunk_get_n_pos(chunk);
    stretch.together = mtmd_decode_use_non_causal(context_.get(), chunk);
    const bool in_rows = mtmd_decode_use_mrope(context_.get()) &&
                         mtmd_input_chunk_get_type(chunk) == MTMD_INPUT_CHUNK_TYPE_IMAGE;
    stretch.whole = stretch.together || in_rows;
    return piece;
}

bool Projector::encode(Stretch& stretch, const EncoderStep& step) const {
    Call call(Call::current()->host(), Call::Abort::Throws); // sotto_compute_encoder() changes this to Dies
    Gate gate{step, call, false};
    auto guarded_step = step;
    guarded_step.context = &gate;
    guarded_step.gate = on_gate;
    encoder_step = &guarded_step;
    const auto result = mtmd_encode_chunk(context_.get(), stretch.chunk.get());
    encoder_step = nullptr;
    if (gate.closed) {
        return false;
    }
    if (result != 0) {
        throw Error(SOTTO_ERROR_INFERENCE, call.last_error("the image or sound cannot be encoded"));
    }
    const auto* made = mtmd_get_output_embd(context_.get());
    stretch.embeddings.assign(made, made + stretch.tokens * width_);
    return true;
}

std::vector<llama_pos> Projector::positions(
    const Stretch& stretch, llama_pos position, std::size_t offset, std::size_t count
) const {
    constexpr std::size_t kAxes = 4; // positions per token if the model counts rows and columns
    const auto* image = mtmd_input_chunk_get_tokens_image(stretch.chunk.get());
    const std::size_t axes = mtmd_decode_use_mrope(context_.get()) ? kAxes : 1;
    std::vector<llama_pos> positions(count * axes);
    for (std::size_t i = 0; i < count; ++i) {
        const auto index = offset + i;
        const auto plain = position + static_cast<llama_pos>(index);
        mtmd_decoder_pos at = {};
        if (axes > 1 && image != nullptr) {
            at = mtmd_image_tokens_get_decoder_pos(image, position, index);
        } else {
            at.t = at.x = at.y = at.z = static_cast<std::uint32_t>(plain);
        }
        const std::uint32_t along[kAxes] = {at.t, at.y, at.x, at.z};
        for (std::size_t axis = 0; axis < axes; ++axis) {
            positions[axis * count + i] = static_cast<llama_pos>(along[axis]);
        }
    }
    return positions;
}

} // namespace sotto::llama
