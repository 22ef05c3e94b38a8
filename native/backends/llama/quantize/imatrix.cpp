#include "quantize/imatrix.hpp"

#include "file/gguf_check.hpp"
#include "file/source.hpp"

#include <algorithm>
#include <cmath>
#include <ggml.h>
#include <gguf.h>
#include <memory>

namespace sotto::llama {
namespace {

constexpr std::string_view kSumsSuffix = ".in_sum2";
constexpr std::string_view kCountsSuffix = ".counts";
constexpr const char* kDatasets = "imatrix.datasets";
constexpr const char* kChunks = "imatrix.chunk_count";
constexpr const char* kChunkSize = "imatrix.chunk_size";

[[noreturn]] void refuse(const std::string& path, const std::string& reason) {
    throw Error(
        SOTTO_ERROR_MODEL,
        "invalid imatrix '" + path + "': " + reason + "; make the file again with llama-imatrix"
    );
}

struct FreeGguf {
    void operator()(gguf_context* file) const noexcept { gguf_free(file); }
};

// Returns the first text that the matrix was measured on. The file must have passed check_gguf().
std::string dataset_of(const std::string& path) {
    const std::unique_ptr<gguf_context, FreeGguf> file(gguf_init_from_file(path.c_str(), {true, nullptr}));
    const auto key = file == nullptr ? -1 : gguf_find_key(file.get(), kDatasets);
    const bool named = key >= 0 && gguf_get_kv_type(file.get(), key) == GGUF_TYPE_ARRAY &&
                       gguf_get_arr_type(file.get(), key) == GGUF_TYPE_STRING &&
                       gguf_get_arr_n(file.get(), key) > 0;
    return named ? gguf_get_arr_str(file.get(), key, 0) : "";
}

std::vector<float>
numbers_of(Source& source, const GgufFacts& facts, const GgufTensor& tensor, const std::string& path) {
    if (tensor.type != GGML_TYPE_F32) {
        refuse(path, "tensor '" + tensor.name + "' is not F32");
    }
    std::vector<float> numbers(tensor.elements);
    source.read(facts.data + tensor.offset, numbers.data(), tensor.bytes);
    for (const auto number : numbers) {
        if (!std::isfinite(number)) {
            refuse(path, "tensor '" + tensor.name + "' holds NaN or infinite numbers");
        }
    }
    return numbers;
}

// Divides the sums of each expert by its number of tokens, as llama-quantize does.
void normalize(std::vector<float>& sums, const std::vector<float>& counts) {
    const auto columns = sums.size() / counts.size();
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const auto count = static_cast<float>(std::lround(counts[i / columns]));
        sums[i] = count > 0 ? sums[i] / count : 1;
    }
}

Imatrix read(const std::string& path, Source& source) {
    const auto facts = check_gguf(source, GgufKind::Adapter);
    for (const auto* key : {kDatasets, kChunks, kChunkSize}) {
        if (facts.values.find(key) == facts.values.end()) {
            refuse(path, std::string("the file lacks ") + key);
        }
    }
    Imatrix imatrix;
    imatrix.chunks = static_cast<std::uint32_t>(gguf_number(facts.values, kChunks, 0));
    imatrix.dataset = dataset_of(path);
    for (const auto& [name, sums] : facts.tensors) {
        if (!name.ends_with(kSumsSuffix)) {
            continue;
        }
        const auto weight = name.substr(0, name.size() - kSumsSuffix.size());
        const auto counts = facts.tensors.find(weight + std::string(kCountsSuffix));
        if (counts == facts.tensors.end() || sums.elements % counts->second.elements != 0) {
            refuse(path, "tensor '" + name + "' lacks counts of its size");
        }
        auto& entry = imatrix.entries[weight];
        entry = numbers_of(source, facts, sums, path);
        normalize(entry, numbers_of(source, facts, counts->second, path));
    }
    if (imatrix.entries.empty()) {
        refuse(path, "the file has no entries");
    }
    return imatrix;
}

} // namespace

bool is_gguf(const std::string& path) {
    constexpr std::string_view kMagic = "GGUF";
    auto file = sotto_init<sotto_model_source>();
    file.path = str(path);
    try {
        const auto source = open_source(file);
        char begin[kMagic.size()] = {};
        source->read(0, begin, std::min<std::uint64_t>(source->size(), sizeof begin));
        return std::string_view(begin, sizeof begin) == kMagic;
    } catch (const Error& error) {
        throw Error(error.status(), "invalid imatrix '" + path + "': " + error.what());
    }
}

Imatrix read_imatrix(const std::string& path) {
    auto file = sotto_init<sotto_model_source>();
    file.path = str(path);
    try {
        const auto source = open_source(file);
        return read(path, *source);
    } catch (const Error& error) {
        const std::string why = error.what();
        const bool named = why.starts_with("invalid imatrix");
        throw Error(error.status(), named ? why : "invalid imatrix '" + path + "': " + why);
    }
}

} // namespace sotto::llama
