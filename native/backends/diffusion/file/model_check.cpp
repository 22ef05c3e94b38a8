#include "backends/diffusion/file/model_check.hpp"

#include <algorithm>
#include <array>

#include "backends/diffusion/file/tensor_check.hpp"

namespace sotto::diffusion {
namespace {

constexpr std::string_view kNetwork = "model.diffusion_model.";
constexpr std::int64_t kHead = 128; // width of a head, which the parts of its rotary embedding add up to
constexpr std::int64_t kMaxWidth = 1 << 14;
constexpr std::int64_t kMaxInner = 1 << 17; // of feed-forward layers
constexpr std::int64_t kMaxChannels = 1 << 12;
constexpr std::int64_t kMaxPatch = 64;
constexpr std::int64_t kMistralTokens = 131'072;
constexpr std::int64_t kQwenTokens = 151'669;

// Returns the name under which stable-diffusion.cpp looks for a tensor of a network.
std::string merged_name(std::string_view name, std::string_view prefix) {
    std::string merged(name.starts_with(prefix) ? "" : prefix);
    merged.append(name);
    for (const std::string_view other : {"diffusion_model.", "unet.", "transformer."}) {
        if (merged.starts_with(other)) {
            return std::string(kNetwork).append(merged, other.size());
        }
    }
    return merged;
}

// Returns an extent in ggml's order, the innermost first.
std::int64_t extent(const TensorFact& tensor, std::size_t index) {
    const auto rank = tensor.shape.size();
    return index < rank ? tensor.shape[rank - 1 - index] : 1;
}

struct Limit {
    std::string_view end; // of a name
    std::size_t index;    // of the extent
    std::int64_t min;
    std::int64_t max;
    std::int64_t multiple;
    std::size_t rank = 0; // the least rank of a tensor that is looked at
};

// Extents that set the sizes of other tensors.
constexpr std::array<Limit, 14> kLimits = {{
    {"txt_in.weight", 0, 1, kMaxInner, 1},
    {"txt_in.weight", 1, kHead, kMaxWidth, kHead},
    {".norm.key_norm.scale", 0, kHead, kHead, 1},
    {"img_in_patch.weight", 0, 1, kMaxPatch, 1},
    {"x_embedder.proj.weight", 0, 1, kMaxPatch, 1, 4},
    {"x_embedder.proj.weight", 2, 1, kMaxChannels, 1, 4},
    {"x_embedder.proj.weight", 3, kHead, kMaxWidth, kHead / 2, 4},
    {"text_proj.weight", 0, 1, kMaxInner, 1},
    {"layers.0.self_attention.norm_q.weight", 0, kHead, kHead, 1},
    {"embed_tokens.weight", 0, 1, kMaxWidth, 1},
    {"layers.0.mlp.gate_proj.weight", 1, 1, kMaxInner, 1},
    {"decoder.conv_in.weight", 3, 1, kMaxChannels, 1, 4},
    {"token_embd.weight", 0, 1, kMaxWidth, 1},
    {"blk.0.ffn_gate.weight", 1, 1, kMaxInner, 1},
}};

void check_limits(const TensorFact& tensor, std::string_view name) {
    for (const auto& limit : kLimits) {
        const auto found = extent(tensor, limit.index);
        const bool matches = name.ends_with(limit.end) && tensor.shape.size() >= limit.rank;
        if (matches && (found < limit.min || found > limit.max || found % limit.multiple != 0)) {
            refuse_tensor(
                tensor.name,
                "extent " + std::to_string(found) + "; expected a multiple of " +
                    std::to_string(limit.multiple) + " from " + std::to_string(limit.min) + " to " +
                    std::to_string(limit.max)
            );
        }
    }
}

// What the names tell of a model.
struct Model {
    bool divides = false;  // its width by the width of a head, as networks of the kind of FLUX
    bool has_head = false; // tells the width of a head
    bool mistral = false;  // its text encoder has the vocabulary of Mistral, else of Qwen

    void note(std::string_view name) {
        const auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
        divides = divides || has("double_blocks.") || has("double_stream_modulation_img.") ||
                  has("nerf_final_layer_conv.");
        has_head = has_head || name == "model.diffusion_model.single_blocks.0.norm.key_norm.scale" ||
                   name == "model.diffusion_model.double_blocks.0.txt_attn.norm.key_norm.scale";
        mistral = mistral || has("single_blocks.47.linear1.weight") || has("layers.0.adaLN_sa_ln.weight");
    }
};

// Tokens index the rows of a language model's table.
void check_tokens(const TensorFact& tensor, std::string_view name, const Model& model) {
    const bool table = name.ends_with("embed_tokens.weight") || name.ends_with("token_embd.weight");
    const auto min = model.mistral ? kMistralTokens : kQwenTokens;
    if (table && name.starts_with("text_encoders.llm.") && extent(tensor, 1) < min) {
        refuse_tensor(
            tensor.name,
            std::to_string(extent(tensor, 1)) + " tokens; expected at least " + std::to_string(min) +
                "; use the text encoder that the model was made for"
        );
    }
}

template <typename Body>
void for_each_tensor(std::span<const LoadedFile> files, const Body& body) {
    for (const auto& loaded : files) {
        for (const auto& tensor : loaded.file.tensors) {
            body(tensor, merged_name(tensor.name, loaded.prefix));
        }
    }
}

} // namespace

void check_model(std::span<const LoadedFile> files) {
    Model model;
    for_each_tensor(files, [&](const TensorFact&, const std::string& name) { model.note(name); });
    for_each_tensor(files, [&](const TensorFact& tensor, const std::string& name) {
        check_limits(tensor, name);
        check_tokens(tensor, name, model);
    });
    if (model.divides && !model.has_head) {
        refuse(
            "no tensor model.diffusion_model.double_blocks.0.txt_attn.norm.key_norm.scale, which a model "
            "with double "
            "blocks needs; use a complete file of the model"
        );
    }
}

void check_lora(const WeightsFile& file) {
    constexpr std::size_t kMax = 32'000; // stable-diffusion.cpp has room for 32,768
    if (file.tensors.size() > kMax) {
        refuse(
            "a LoRA of " + std::to_string(file.tensors.size()) + " tensors; expected at most " +
            std::to_string(kMax)
        );
    }
}

} // namespace sotto::diffusion
