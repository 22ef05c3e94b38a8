#include "backends/diffusion/file/parts.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace sotto::diffusion {
namespace {

struct Mark {
    std::string_view text;
    bool Parts::* part;
};

// Prefixes of parts within a checkpoint. The first that matches decides.
constexpr std::array<Mark, 24> kPrefixes = {{
    {"model.diffusion_model.", &Parts::diffusion},
    {"diffusion_model.", &Parts::diffusion},
    {"unet.", &Parts::diffusion},
    {"transformer.transformer_blocks.", &Parts::diffusion},
    {"transformer.single_transformer_blocks.", &Parts::diffusion},
    {"cond_stage_model.1.", &Parts::clip_g},
    {"cond_stage_model.", &Parts::clip_l},
    {"conditioner.embedders.1.", &Parts::clip_g},
    {"conditioner.embedders.0.", &Parts::clip_l},
    {"text_encoders.clip_l.", &Parts::clip_l},
    {"text_encoders.clip_g.", &Parts::clip_g},
    {"text_encoders.t5xxl.", &Parts::t5},
    {"text_encoders.llm.", &Parts::llm},
    {"text_encoder.2.", &Parts::clip_g},
    {"text_encoder.", &Parts::clip_l},
    {"te.1.", &Parts::clip_g},
    {"te2.", &Parts::clip_g},
    {"te3.", &Parts::t5},
    {"te.", &Parts::clip_l},
    {"te1.", &Parts::clip_l},
    {"first_stage_model.", &Parts::vae},
    {"vae.", &Parts::vae},
    {"tae.", &Parts::tiny_vae},
    {"control_model.", &Parts::control_net},
}};

// Starts of names in a file that holds one part.
constexpr std::array<Mark, 40> kStarts = {{
    {"input_hint_block.", &Parts::control_net},
    {"zero_convs.", &Parts::control_net},
    {"controlnet_", &Parts::control_net}, // diffusers
    {"input_blocks.", &Parts::diffusion},
    {"down_blocks.", &Parts::diffusion}, // diffusers
    {"joint_blocks.", &Parts::diffusion},
    {"double_blocks.", &Parts::diffusion},
    {"single_blocks.", &Parts::diffusion},
    {"double_stream_modulation_img.", &Parts::diffusion},
    {"transformer_blocks.", &Parts::diffusion},
    {"single_transformer_blocks.", &Parts::diffusion},
    {"noise_refiner.", &Parts::diffusion},
    {"cap_embedder.", &Parts::diffusion},
    {"layers.0.adaLN_", &Parts::diffusion},
    {"llm_adapter.", &Parts::diffusion},
    {"net.llm_adapter.", &Parts::diffusion},
    {"net.blocks.", &Parts::diffusion},
    {"nerf_", &Parts::diffusion},
    {"blocks.0.cross_attn.", &Parts::diffusion},
    {"encoder.block.", &Parts::t5},
    {"enc.blk.", &Parts::t5}, // llama.cpp
    {"model.layers.", &Parts::llm},
    {"model.language_model.", &Parts::llm},
    {"language_model.", &Parts::llm},
    {"blk.", &Parts::llm}, // llama.cpp
    {"decoder.layers.", &Parts::tiny_vae},
    {"decoder.1.", &Parts::tiny_vae}, // for videos, and for models with the same latents
    {"decoder.conv_in.", &Parts::vae},
    {"decoder.conv1.", &Parts::vae},
    {"conv_first.", &Parts::upscaler},
    {"model.1.sub.", &Parts::upscaler},
    {"emb_params", &Parts::embedding},
    {"string_to_param.", &Parts::embedding},
    {"<", &Parts::embedding}, // diffusers: the token in angle brackets
    {"lora_unet_", &Parts::lora},
    {"lora_te", &Parts::lora},
    {"lycoris_", &Parts::lora},
    {"lora.", &Parts::lora},
    {"transformer.resblocks.", &Parts::clip_g}, // OpenCLIP
    {"model.transformer.resblocks.", &Parts::clip_g},
}};

constexpr std::array<std::string_view, 11> kOfLora = {
    ".lora_down.",
    ".lora_up.",
    ".lora_A.",
    ".lora_B.",
    ".lora.down.",
    ".lora.up.",
    "_lora.down.",
    "_lora.up.",
    ".hada_w1",
    ".lokr_w1",
    ".lora_linear_layer.",
};

bool is_lora(std::string_view name) {
    return std::any_of(kOfLora.begin(), kOfLora.end(), [&](auto part) {
        return name.find(part) != std::string_view::npos;
    });
}

// The two encoders of CLIP in files of their own differ in their width.
bool Parts::* clip_of(const TensorFact& tensor) {
    constexpr std::int64_t kWidthOfG = 1280;
    return !tensor.shape.empty() && tensor.shape.back() == kWidthOfG ? &Parts::clip_g : &Parts::clip_l;
}

void note(const TensorFact& tensor, Parts& found) {
    const std::string_view name = tensor.name;
    const auto begins = [&](const Mark& mark) { return name.starts_with(mark.text); };
    if (is_lora(name)) {
        found.lora = true;
    } else if (
        const auto prefix = std::find_if(kPrefixes.begin(), kPrefixes.end(), begins);
        prefix != kPrefixes.end()
    ) {
        found.*prefix->part = true;
    } else if (
        const auto start = std::find_if(kStarts.begin(), kStarts.end(), begins); start != kStarts.end()
    ) {
        found.*start->part = true;
    } else if (name == "text_model.embeddings.token_embedding.weight") {
        found.*clip_of(tensor) = true;
    }
}

Parts only(bool Parts::* part) {
    Parts parts;
    parts.*part = true;
    return parts;
}

// An embedding in a file of its own: one or two tensors, for the two encoders of SDXL.
bool is_embedding(const WeightsFile& file) {
    return file.tensors.size() <= 2 &&
           std::all_of(file.tensors.begin(), file.tensors.end(), [](const auto& tensor) {
               return tensor.name == "clip_l" || tensor.name == "clip_g" || tensor.name == "emb_params";
           });
}

} // namespace

Parts parts_of(const WeightsFile& file) {
    Parts found;
    for (const auto& tensor : file.tensors) {
        note(tensor, found);
    }
    if (is_embedding(file)) {
        return only(&Parts::embedding);
    }
    for (const auto alone : {&Parts::lora, &Parts::control_net, &Parts::upscaler, &Parts::embedding}) {
        if (found.*alone) {
            return only(alone);
        }
    }
    return found;
}

} // namespace sotto::diffusion
