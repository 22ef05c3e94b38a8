#include "quantize/measure.hpp"

#include "file/gguf_check.hpp"
#include "file/mapped_file.hpp"
#include "file/source.hpp"
#include "model/weights.hpp"
#include "runtime/guard.hpp"
#include "runtime/json_parts.hpp"
#include "token/tokenizer.hpp"

#include <algorithm>
#include <cmath>
#include <ggml-backend.h>
#include <ggml.h>
#include <llama.h>
#include <map>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace sotto::llama {
namespace {

constexpr std::uint32_t kChunk = 512; // tokens that are computed at once, from an empty context
constexpr std::int64_t kMinRows = 16; // of an activation; llama-imatrix ignores those of fewer tokens
constexpr std::uint64_t kMaxTextBytes = 64 << 20;

Error refused(const MeasureRequest& request, const std::string& expected) {
    return invalid_argument("imatrix", request.text, expected);
}

// Sums the squares of the activations that each weight matrix is multiplied with.
class Collector {
public:
    explicit Collector(const std::function<bool(float)>& progress) : progress_(progress) {}

    // llama.cpp's `cb_eval`: called with `ask` before a node is computed, and after it if that returned true.
    // Returns false to end the step.
    static bool seen(ggml_tensor* node, bool ask, void* self) {
        auto& collector = *static_cast<Collector*>(self);
        return ask ? wants(*node) : collector.take(*node);
    }

    void begin_chunk(float done) noexcept { done_ = done; }
    bool stopped() const noexcept { return stopped_; }
    bool out_of_memory() const noexcept { return out_of_memory_; }
    // Returns the mean square of each column. 1 for an expert that no token was routed to.
    std::map<std::string, std::vector<float>> means() const;

private:
    struct Sums {
        std::vector<float> squares;       // columns of each expert
        std::vector<std::int64_t> counts; // rows, by expert
    };

    static bool wants(const ggml_tensor& node) noexcept {
        const std::string_view name = node.src[0] == nullptr ? "" : node.src[0]->name;
        if (!name.starts_with("blk.") || node.src[1] == nullptr || node.src[1]->type != GGML_TYPE_F32) {
            return false;
        }
        return node.op == GGML_OP_MUL_MAT_ID ||
               (node.op == GGML_OP_MUL_MAT && node.src[1]->ne[1] >= kMinRows);
    }

    bool take(const ggml_tensor& node) noexcept {
        try {
            stopped_ = stopped_ || !progress_(done_);
            if (!stopped_) {
                node.op == GGML_OP_MUL_MAT_ID ? add_routed(node) : add(node);
            }
        } catch (const std::exception&) { // such as std::bad_alloc; llama.cpp's C code cannot unwind
            stopped_ = out_of_memory_ = true;
        }
        return !stopped_;
    }

    Sums& sums_of(const ggml_tensor& node, std::int64_t parts, std::int64_t counts) {
        auto& sums = sums_[node.src[0]->name];
        sums.squares.resize(static_cast<std::size_t>(node.src[1]->ne[0] * parts));
        sums.counts.resize(static_cast<std::size_t>(counts));
        return sums;
    }

    static void
    add_row(const ggml_tensor& rows, std::int64_t at, std::int64_t plane, std::int64_t cube, float* sums) {
        const auto* from = static_cast<const char*>(rows.data) + at * static_cast<std::int64_t>(rows.nb[1]) +
                           plane * static_cast<std::int64_t>(rows.nb[2]) +
                           cube * static_cast<std::int64_t>(rows.nb[3]);
        const auto* values = reinterpret_cast<const float*>(from);
        for (std::int64_t i = 0; i < rows.ne[0]; ++i) {
            sums[i] += values[i] * values[i];
        }
    }

    void add(const ggml_tensor& node) {
        const auto& weights = *node.src[0];
        const auto& rows = *node.src[1];
        const auto parts = weights.ne[2] * weights.ne[3];
        auto& sums = sums_of(node, parts, 1);
        for (std::int64_t cube = 0; cube < rows.ne[3]; ++cube) {
            for (std::int64_t plane = 0; plane < rows.ne[2]; ++plane) {
                const auto part = (cube % weights.ne[3]) * weights.ne[2] + plane % weights.ne[2];
                for (std::int64_t at = 0; at < rows.ne[1]; ++at) {
                    add_row(rows, at, plane, cube, sums.squares.data() + part * rows.ne[0]);
                }
            }
        }
        sums.counts[0] += ggml_nrows(&rows) / parts;
    }

    // Adds the rows of a mixture of experts: `src[2]` has the experts of each token.
    void add_routed(const ggml_tensor& node) {
        const auto& rows = *node.src[1];
        const auto& experts = *node.src[2];
        auto& sums = sums_of(node, node.src[0]->ne[2], node.src[0]->ne[2]);
        for (std::int64_t choice = 0; choice < experts.ne[0]; ++choice) {
            for (std::int64_t token = 0; token < rows.ne[2]; ++token) {
                const auto at = token * static_cast<std::int64_t>(experts.nb[1]) +
                                choice * static_cast<std::int64_t>(experts.nb[0]);
                const auto expert =
                    *reinterpret_cast<const std::int32_t*>(static_cast<const char*>(experts.data) + at);
                add_row(rows, choice % rows.ne[1], token, 0, sums.squares.data() + expert * rows.ne[0]);
                ++sums.counts[static_cast<std::size_t>(expert)];
            }
        }
    }

    const std::function<bool(float)>& progress_;
    std::map<std::string, Sums> sums_; // by the name of the weight matrix
    float done_ = 0;
    bool stopped_ = false;
    bool out_of_memory_ = false;
};

std::map<std::string, std::vector<float>> Collector::means() const {
    std::map<std::string, std::vector<float>> means;
    for (const auto& [name, sums] : sums_) {
        auto& mean = means[name];
        const auto columns = sums.squares.size() / sums.counts.size();
        for (std::size_t i = 0; i < sums.squares.size(); ++i) {
            const auto count = sums.counts[i / columns];
            mean.push_back(count > 0 ? sums.squares[i] / static_cast<float>(count) : 1);
            if (!std::isfinite(mean.back())) {
                throw Error(
                    SOTTO_ERROR_MODEL, "the model computes NaN or infinite numbers before '" + name + "'"
                );
            }
        }
    }
    return means;
}

std::string read_text(const MeasureRequest& request) {
    auto desc = sotto_init<sotto_model_source>();
    desc.path = str(request.text);
    const auto source = open_source(desc);
    if (source->size() > kMaxTextBytes) {
        throw refused(request, "a text of at most 64 MB");
    }
    std::string text(source->size(), '\0');
    source->read(0, text.data(), text.size());
    if (text.find('\0') != std::string::npos || !is_utf8(text)) {
        throw refused(request, "a text in UTF-8, or a matrix in GGUF");
    }
    return text;
}

Weights load(Call& call, Source& file, bool mapped, MappedFile& mapping) {
    ggml_backend_dev_t none = nullptr;
    auto wanted = llama_model_default_params();
    wanted.devices = &none; // the CPU
    wanted.split_mode = LLAMA_SPLIT_MODE_NONE;
    wanted.main_gpu = -1;
    wanted.n_gpu_layers = 0;
    wanted.load_mode = mapped ? LLAMA_LOAD_MODE_MMAP : LLAMA_LOAD_MODE_NONE;
    const MappedFile::Loading loading(mapping);
    Weights weights(llama_model_load_from_file_ptr(file.file(), wanted));
    if (!weights) {
        call.refuse("llama.cpp cannot load the model");
    }
    const auto* vocab = llama_model_get_vocab(weights.get());
    if (llama_vocab_type(vocab) == LLAMA_VOCAB_TYPE_NONE || llama_model_has_encoder(weights.get())) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "imatrix: the model generates no text to measure on; use a matrix of llama-imatrix, or none"
        );
    }
    return weights;
}

Context make_context(
    Call& call, llama_model* model, std::uint32_t chunk, std::uint32_t threads, Collector& collector
) {
    auto wanted = llama_context_default_params();
    wanted.n_ctx = wanted.n_batch = wanted.n_ubatch = chunk;
    wanted.n_seq_max = 1;
    wanted.n_threads = wanted.n_threads_batch =
        static_cast<std::int32_t>(std::min(threads, std::uint32_t{GGML_MAX_N_THREADS}));
    wanted.cb_eval = Collector::seen;
    wanted.cb_eval_user_data = &collector;
    call.expect_below(SOTTO_LOG_ERROR); // llama.cpp warns that the context is smaller than the trained one
    Context context(llama_init_from_model(model, wanted));
    if (!context) {
        call.refuse("llama.cpp cannot make a context");
    }
    return context;
}

// Computes one chunk of tokens from an empty context.
void compute(Call& call, llama_context* context, std::vector<llama_token> tokens) {
    const auto* vocab = llama_model_get_vocab(llama_get_model(context));
    if (llama_vocab_get_add_bos(vocab)) {
        tokens.front() = llama_vocab_bos(vocab);
    }
    llama_memory_clear(llama_get_memory(context), true);
    auto batch = llama_batch_get_one(tokens.data(), static_cast<std::int32_t>(tokens.size()));
    std::vector<std::int8_t> outputs(
        tokens.size(), 1
    ); // otherwise the last layer computes the last token only
    batch.logits = outputs.data();
    if (llama_decode(context, batch) != 0) {
        call.refuse("llama.cpp cannot compute the text");
    }
}

} // namespace

Imatrix measure_imatrix(const sotto_backend_host& host, const MeasureRequest& request) {
    Call call(host, Call::Abort::Throws);
    const auto text = read_text(request);
    auto desc = sotto_init<sotto_model_source>();
    desc.path = str(request.model);
    const auto file = open_source(desc);
    const auto facts = check_gguf(*file);
    MappedFile mapping;
    const auto weights = load(call, *file, file->mappable() && facts.data_aligned, mapping);
    const Tokenizer tokenizer(llama_model_get_vocab(weights.get()));
    auto tokens = tokenizer.cut(text, false);
    tokenizer.begin(tokens);
    const auto chunk = std::min<std::size_t>(kChunk, facts.trained_context);
    if (tokens.size() < chunk) {
        const auto found = std::to_string(tokens.size());
        throw refused(
            request, "a text of " + std::to_string(chunk) + " tokens or more, not " + found + "; add lines"
        );
    }
    Collector collector(request.progress);
    const auto context =
        make_context(call, weights.get(), static_cast<std::uint32_t>(chunk), request.threads, collector);
    Imatrix imatrix;
    imatrix.dataset = request.text;
    imatrix.chunks = static_cast<std::uint32_t>(tokens.size() / chunk);
    for (std::uint32_t at = 0; at < imatrix.chunks; ++at) {
        collector.begin_chunk(static_cast<float>(at) / static_cast<float>(imatrix.chunks));
        const auto first = tokens.begin() + static_cast<std::ptrdiff_t>(at * chunk);
        compute(call, context.get(), {first, first + static_cast<std::ptrdiff_t>(chunk)});
        mapping.check();
        if (collector.out_of_memory()) {
            throw std::bad_alloc();
        }
        if (collector.stopped()) {
            throw Error(SOTTO_ERROR_CANCELLED, "the measurement was cancelled");
        }
    }
    imatrix.entries = collector.means();
    return imatrix;
}

} // namespace sotto::llama
