// Validates the tensor types of GGUF files before llama.cpp reads them: each type must suit the tensor's
// role.
#include "file/tensor_rules.hpp"

#include <algorithm>
#include <array>
#include <ggml.h>

namespace sotto::llama {
namespace {

enum class Role {
    Vector, // operand of an element-wise operation: ggml requires f32 if the other operand is f32
    Index,  // a table of integers
    Weights // left operand of a matrix product, or a table whose rows are looked up
};

constexpr std::array<std::string_view, 3> kIndexes = {"d2t", "ffn_gate_tid2eid", "masked_embd_ordering"};

bool is_index(std::string_view name) {
    return std::any_of(kIndexes.begin(), kIndexes.end(), [&](std::string_view index) {
        return name.find(index) != std::string_view::npos;
    });
}

// Two-dimensional tensors that are nevertheless used element-wise, convolved or scanned.
constexpr std::array<std::string_view, 22> kVectors = {
    "attn_sinks",      "channel_mix_lerp_k",  "channel_mix_lerp_r", "ffn_act",         "shortconv.conv",
    "ssm_a",           "ssm_conv1d",          "ssm_conv1d_k",       "ssm_conv1d_q",    "ssm_conv1d_v",
    "ssm_d",           "time_mix_decay",      "time_mix_first",     "time_mix_k_a",    "time_mix_k_k",
    "time_mix_lerp_k", "time_mix_lerp_r",     "time_mix_lerp_v",    "time_mix_lerp_w", "time_mix_lerp_x",
    "time_mix_r_k",    "time_mix_lerp_fused",
};

// Returns true if a tensor's base name is in kVectors. The base name of blk.0.ssm_a and of blk.0.ssm_a.weight
// is ssm_a.
bool is_vector(std::string_view name) {
    if (name.starts_with("blk.")) {
        name.remove_prefix(std::min(name.size(), name.find('.', 4) + 1));
    }
    if (name.ends_with(".weight")) {
        name.remove_suffix(std::string_view(".weight").size());
    }
    return std::find(kVectors.begin(), kVectors.end(), name) != kVectors.end();
}

// Returns the role of a tensor. As in llama.cpp's converters and quantiser, tensors of one dimension and
// normalisation weights are vectors.
Role role_of(const GgufTensor& tensor) {
    const std::string_view name = tensor.name;
    if (is_index(name)) {
        return Role::Index;
    }
    const bool vector = tensor.extents.size() == 1 || name.ends_with(".bias") ||
                        name.ends_with("_norm.weight") || is_vector(name);
    return vector ? Role::Vector : Role::Weights;
}

bool fits(Role role, std::uint32_t type) {
    switch (role) {
    case Role::Vector:
        return type == GGML_TYPE_F32;
    case Role::Index:
        return type == GGML_TYPE_I32 || type == GGML_TYPE_I64;
    default:
        return reads_as_weights(type);
    }
}

const char* described(Role role) {
    switch (role) {
    case Role::Vector:
        return "of a bias, a normalisation or another vector; expected f32";
    case Role::Index:
        return "of a table of indexes; expected i32 or i64";
    default:
        return "of weights; expected f32, f16, bf16 or a type that llama.cpp quantises models to";
    }
}

} // namespace

bool reads_as_weights(std::uint32_t type) {
    switch (type) {
    case GGML_TYPE_F32:
    case GGML_TYPE_F16:
    case GGML_TYPE_BF16:
        return true;
    case GGML_TYPE_Q8_1: // temporary format of the right operand during a product, not for files
    case GGML_TYPE_Q8_K:
        return false;
    default:
        return type < GGML_TYPE_COUNT && ggml_is_quantized(static_cast<ggml_type>(type));
    }
}

const GgufTensor* find_tensor(const GgufTensors& tensors, std::string_view name) {
    const auto found = tensors.find(name);
    return found == tensors.end() ? nullptr : &found->second;
}

void check_gguf_tensors(const GgufTensors& tensors) {
    for (const auto& [name, tensor] : tensors) {
        const auto role = role_of(tensor);
        if (!fits(role, tensor.type)) {
            throw Error(
                SOTTO_ERROR_MODEL,
                "invalid tensor '" + name + "': type " + ggml_type_name(static_cast<ggml_type>(tensor.type)) +
                    " " + described(role) + "; convert the model again"
            );
        }
    }
}

} // namespace sotto::llama
