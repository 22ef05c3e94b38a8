// Parts of a model that a weights file holds, by the names of its tensors.
#pragma once

#include "backends/diffusion/file/weights_check.hpp"

namespace sotto::diffusion {

// Parts that stable-diffusion.cpp would find.
struct Parts {
    bool diffusion = false; // the network that denoises
    bool clip_l = false;    // or the only text encoder of SD 1.x and 2.x
    bool clip_g = false;
    bool t5 = false;
    bool llm = false; // a language model as the text encoder
    bool vae = false;
    bool tiny_vae = false; // such as TAESD
    bool control_net = false;
    bool lora = false; // also LoHa and LoKr
    bool upscaler = false;
    bool embedding = false; // textual inversion

    bool any() const noexcept {
        return diffusion || clip_l || clip_g || t5 || llm || vae || tiny_vae || control_net || lora ||
               upscaler || embedding;
    }
};

// Knows the names of original checkpoints, of diffusers, of ComfyUI and of llama.cpp. A LoRA, a ControlNet,
// an upscaler and an embedding are reported alone.
Parts parts_of(const WeightsFile& file);

} // namespace sotto::diffusion
