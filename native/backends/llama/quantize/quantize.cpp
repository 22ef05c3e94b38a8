#include "quantize/quantize.hpp"

#include "file/gguf_check.hpp"
#include "file/mapped_file.hpp"
#include "file/source.hpp"
#include "llama_cpp/quantized_file.hpp"
#include "quantize/imatrix.hpp"
#include "quantize/measure.hpp"
#include "runtime/guard.hpp"

#include <algorithm>
#include <atomic>
#include <cctype>
#include <cstddef>
#include <exception>
#include <ggml.h>
#include <llama.h>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace sotto::llama {
namespace {

constexpr float kMeasureShare = 0.8F; // of the progress, where an importance matrix is measured first
constexpr std::size_t kBufferBytes = 16 << 20; // of tensor rows at once; bounds memory and the time to cancel
constexpr std::size_t kOutputBytes = 2 << 20;  // what QuantizedFile collects

struct Type {
    std::string_view name;
    llama_ftype ftype;
};
constexpr Type kTypes[] = {
    {"F32", LLAMA_FTYPE_ALL_F32},          {"F16", LLAMA_FTYPE_MOSTLY_F16},
    {"BF16", LLAMA_FTYPE_MOSTLY_BF16},     {"Q8_0", LLAMA_FTYPE_MOSTLY_Q8_0},
    {"Q6_K", LLAMA_FTYPE_MOSTLY_Q6_K},     {"Q5_K_M", LLAMA_FTYPE_MOSTLY_Q5_K_M},
    {"Q5_K_S", LLAMA_FTYPE_MOSTLY_Q5_K_S}, {"Q5_K", LLAMA_FTYPE_MOSTLY_Q5_K_M},
    {"Q5_1", LLAMA_FTYPE_MOSTLY_Q5_1},     {"Q5_0", LLAMA_FTYPE_MOSTLY_Q5_0},
    {"Q4_K_M", LLAMA_FTYPE_MOSTLY_Q4_K_M}, {"Q4_K_S", LLAMA_FTYPE_MOSTLY_Q4_K_S},
    {"Q4_K", LLAMA_FTYPE_MOSTLY_Q4_K_M},   {"Q4_1", LLAMA_FTYPE_MOSTLY_Q4_1},
    {"Q4_0", LLAMA_FTYPE_MOSTLY_Q4_0},     {"IQ4_NL", LLAMA_FTYPE_MOSTLY_IQ4_NL},
    {"IQ4_XS", LLAMA_FTYPE_MOSTLY_IQ4_XS}, {"MXFP4_MOE", LLAMA_FTYPE_MOSTLY_MXFP4_MOE},
    {"Q3_K_L", LLAMA_FTYPE_MOSTLY_Q3_K_L}, {"Q3_K_M", LLAMA_FTYPE_MOSTLY_Q3_K_M},
    {"Q3_K_S", LLAMA_FTYPE_MOSTLY_Q3_K_S}, {"Q3_K", LLAMA_FTYPE_MOSTLY_Q3_K_M},
    {"IQ3_M", LLAMA_FTYPE_MOSTLY_IQ3_M},   {"IQ3_S", LLAMA_FTYPE_MOSTLY_IQ3_S},
    {"IQ3_XS", LLAMA_FTYPE_MOSTLY_IQ3_XS}, {"IQ3_XXS", LLAMA_FTYPE_MOSTLY_IQ3_XXS},
    {"Q2_K", LLAMA_FTYPE_MOSTLY_Q2_K},     {"Q2_K_S", LLAMA_FTYPE_MOSTLY_Q2_K_S},
    {"IQ2_M", LLAMA_FTYPE_MOSTLY_IQ2_M},   {"IQ2_S", LLAMA_FTYPE_MOSTLY_IQ2_S},
    {"IQ2_XS", LLAMA_FTYPE_MOSTLY_IQ2_XS}, {"IQ2_XXS", LLAMA_FTYPE_MOSTLY_IQ2_XXS},
    {"TQ2_0", LLAMA_FTYPE_MOSTLY_TQ2_0},   {"TQ1_0", LLAMA_FTYPE_MOSTLY_TQ1_0},
    {"IQ1_M", LLAMA_FTYPE_MOSTLY_IQ1_M},   {"IQ1_S", LLAMA_FTYPE_MOSTLY_IQ1_S},
    {"Q2_0", LLAMA_FTYPE_MOSTLY_Q2_0},     {"Q1_0", LLAMA_FTYPE_MOSTLY_Q1_0},
};

llama_ftype type_of(std::string_view name) {
    const auto same = [](char a, char b) { return std::toupper(static_cast<unsigned char>(a)) == b; };
    std::string names;
    for (const auto& type : kTypes) {
        if (std::ranges::equal(name, type.name, same)) {
            return type.ftype;
        }
        const bool last = &type + 1 == std::end(kTypes);
        names += (names.empty() ? "" : last ? " or " : ", ") + std::string(type.name);
    }
    throw invalid_argument("type", name, names);
}

// Passes the new file to the caller, and ends the quantization if a callback fails.
class Output : public QuantizeOutput {
public:
    // `elements`: numbers that are quantized, for the progress, which goes from `begin` to 1.
    Output(const sotto_quantize_source& desc, std::uint64_t elements, float begin)
        : desc_(desc), elements_(std::max<std::uint64_t>(elements, 1)), begin_(begin),
          owner_(std::this_thread::get_id()) {}

    void write(std::uint64_t offset, const char* bytes, std::size_t size) override {
        stopped_ = stopped_ || (size > 0 && desc_.write(desc_.context, offset, bytes, size) != 0);
        check();
    }

    bool advance(std::uint64_t elements) noexcept override {
        const auto done = done_ += elements;
        if (std::this_thread::get_id() == owner_) { // callbacks run on one thread
            const auto share = static_cast<float>(static_cast<double>(done) / static_cast<double>(elements_));
            const auto progress = std::min(begin_ + (1 - begin_) * share, 1.0F);
            stopped_ = stopped_ || desc_.progress(desc_.context, progress) != 0;
        }
        return !stopped_;
    }

    void check() const {
        if (stopped_) {
            throw Error(SOTTO_ERROR_CANCELLED, "the quantization was cancelled");
        }
    }

private:
    const sotto_quantize_source& desc_;
    const std::uint64_t elements_;
    const float begin_;
    const std::thread::id owner_;
    std::atomic<std::uint64_t> done_{0};
    std::atomic<bool> stopped_{false};
};

llama_model_kv_override override_of(const char* key, const std::string& text) {
    llama_model_kv_override value = {};
    value.tag = LLAMA_KV_OVERRIDE_TYPE_STR;
    std::string_view(key).copy(value.key, sizeof value.key - 1);
    text.copy(value.val_str, sizeof value.val_str - 1);
    return value;
}

llama_model_kv_override override_of(const char* key, std::int64_t number) {
    llama_model_kv_override value = {};
    value.tag = LLAMA_KV_OVERRIDE_TYPE_INT;
    std::string_view(key).copy(value.key, sizeof value.key - 1);
    value.val_i64 = number;
    return value;
}

// An importance matrix as llama_model_quantize() takes it, and the metadata that llama-quantize adds.
struct Importance {
    Importance(Imatrix read, const std::string& path) : imatrix(std::move(read)) {
        for (const auto& [name, values] : imatrix.entries) {
            data.push_back({name.c_str(), values.data(), values.size()});
        }
        data.push_back({nullptr, nullptr, 0}); // the end
        metadata.push_back(override_of("quantize.imatrix.file", path));
        if (!imatrix.dataset.empty()) {
            metadata.push_back(override_of("quantize.imatrix.dataset", imatrix.dataset));
        }
        metadata.push_back(
            override_of("quantize.imatrix.entries_count", static_cast<std::int64_t>(imatrix.entries.size()))
        );
        if (imatrix.chunks > 0) {
            metadata.push_back(override_of("quantize.imatrix.chunks_count", imatrix.chunks));
        }
        metadata.push_back({}); // the end
    }

    const Imatrix imatrix;
    std::vector<llama_model_imatrix_data> data;
    std::vector<llama_model_kv_override> metadata;
};

std::uint64_t bytes_of(const Imatrix& imatrix) {
    std::uint64_t bytes = 0;
    for (const auto& [name, values] : imatrix.entries) {
        bytes += values.size() * sizeof(float);
    }
    return bytes;
}

// Charges working memory to the caller's budget. Throws Error if there is no room.
void reserve(const sotto_quantize_source& desc, std::uint64_t bytes) {
    const bool has = desc.struct_size >= offsetof(sotto_quantize_source, reserve) + sizeof desc.reserve;
    if (has && desc.reserve != nullptr && desc.reserve(desc.context, bytes) != 0) {
        throw Error(SOTTO_ERROR_BUDGET, "the budget has no room for " + std::to_string(bytes) + " bytes");
    }
}

// Throws the error of a quantization that llama.cpp ended.
[[noreturn]] void refuse(const Call& call, std::string_view type) {
    const auto reason = call.last_error("llama.cpp cannot quantize the model");
    if (reason.find("requires an i") != std::string::npos ||
        reason.find("importance matrix") != std::string::npos) {
        throw invalid_argument(
            "type", type, "a type that needs no importance matrix; set imatrix, or use Q2_K or larger"
        );
    }
    if (reason.find("no tensor type fallback") != std::string::npos) {
        throw invalid_argument(
            "type", type, "a type whose blocks divide the rows of all matrices, such as Q8_0 or Q4_K_M"
        );
    }
    if (reason.find("requantizing") != std::string::npos) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid path: the model is quantized already (" + reason +
                "); use the F32, F16 or BF16 file that it was made from"
        );
    }
    call.refuse(reason);
}

// Reads the importance matrix of `desc`, or measures one if the file is a text.
Imatrix imatrix_of(const sotto_backend_host& host, const sotto_quantize_source& desc, bool is_text) {
    const std::string path(view(desc.imatrix));
    if (!is_text) {
        return read_imatrix(path);
    }
    const auto progress = [&](float done) { return desc.progress(desc.context, done * kMeasureShare) == 0; };
    return measure_imatrix(host, {std::string(view(desc.path)), path, desc.threads, progress});
}

std::uint64_t matrix_elements(const GgufFacts& facts) {
    std::uint64_t elements = 0;
    for (const auto& [name, tensor] : facts.tensors) {
        elements += tensor.extents.size() > 1 ? tensor.elements : 0;
    }
    return elements;
}

} // namespace

void quantize(const sotto_backend_host& host, const sotto_quantize_source& desc) {
    auto wanted = llama_model_quantize_default_params();
    wanted.ftype = type_of(view(desc.type));
    wanted.nthread = static_cast<std::int32_t>(std::min(desc.threads, std::uint32_t{GGML_MAX_N_THREADS}));
    wanted.max_buf_size = kBufferBytes;

    reserve(desc, kBufferBytes + kOutputBytes);
    Call call(host, Call::Abort::Throws);
    auto file = sotto_init<sotto_model_source>();
    file.path = desc.path;
    const auto facts = check_gguf(*open_source(file));
    const std::string imatrix(view(desc.imatrix));
    std::optional<Importance> importance;
    const bool measures = !imatrix.empty() && !is_gguf(imatrix);
    if (!imatrix.empty()) {
        auto read = imatrix_of(host, desc, measures);
        reserve(desc, bytes_of(read));
        importance.emplace(std::move(read), imatrix);
        wanted.imatrix = importance->data.data();
        wanted.kv_overrides = importance->metadata.data();
    }
    Output output(desc, matrix_elements(facts), measures ? kMeasureShare : 0);
    MappedFile mapping;
    const MappedFile::Loading loading(mapping);
    const QuantizeOutput::Scope scope(&output);
    call.expect_below(0); // a cancelled quantization is an error for llama.cpp
    const auto failed = llama_model_quantize(std::string(view(desc.path)).c_str(), "", &wanted);
    mapping.check();
    output.check();
    if (failed != 0) {
        refuse(call, view(desc.type));
    }
}

} // namespace sotto::llama
