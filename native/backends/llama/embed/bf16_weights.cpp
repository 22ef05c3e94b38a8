#include "embed/bf16_weights.hpp"

#include "devices/cpu/matmul/matmul.hpp"
#include "isa/isa_tier.hpp"
#include "model/weights.hpp"

#include <algorithm>
#include <array>

namespace sotto::llama {
namespace {

bool has_bf16() {
    return cpu_supports("avx512bf16");
}

// Returns true for a matrix of a layer, whose products ggml computes with GGML_OP_MUL_MAT.
bool is_of_layer(std::string_view name, std::uint32_t type, std::size_t extents) {
    return name.starts_with("blk.") && name.ends_with(".weight") && type == GGML_TYPE_F16 && extents == 2;
}

// Converts `count` values in place.
void to_bf16(ggml_fp16_t* halves, std::int64_t count) {
    constexpr std::int64_t kPiece = 1024;
    std::array<float, kPiece> values{};
    for (std::int64_t at = 0; at < count; at += kPiece) {
        const auto some = std::min(kPiece, count - at);
        ggml_fp16_to_fp32_row(halves + at, values.data(), some);
        ggml_fp32_to_bf16_row(values.data(), reinterpret_cast<ggml_bf16_t*>(halves + at), some);
    }
}

} // namespace

bool narrows_weights(const GgufFacts& facts, const Options& options) {
    return !facts.causal && options.device == nullptr && has_bf16() &&
           std::any_of(facts.tensors.begin(), facts.tensors.end(), [](const auto& entry) {
               return is_of_layer(entry.first, entry.second.type, entry.second.extents.size());
           });
}

void narrow_weights(const llama_model* model) {
    for (const auto& [name, tensor] : llama_internal_get_tensor_map(model)) {
        if (is_of_layer(name, tensor->type, static_cast<std::size_t>(ggml_n_dims(tensor))) &&
            ggml_is_contiguous(tensor)) {
            to_bf16(static_cast<ggml_fp16_t*>(tensor->data), ggml_nelements(tensor));
            tensor->type = GGML_TYPE_BF16;
        }
    }
}

void allow_bf16(const llama_model* model) {
    if (!has_bf16()) {
        return;
    }
    const int flags = kBf16Weights | (may_use_tiles() ? kTileWeights : 0);
    for (const auto& [name, tensor] : llama_internal_get_tensor_map(model)) {
        tensor->flags |= flags;
    }
}

} // namespace sotto::llama
