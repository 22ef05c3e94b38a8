// The load options of a diffusion model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace sotto::diffusion {

inline constexpr std::uint32_t kMaxSteps = 1'000;

struct Options {
    // Paths of the files of a model in parts; empty: in the model's file, or absent.
    std::string diffusion_model;
    std::string clip_l;
    std::string clip_g;
    std::string t5xxl;
    std::string llm;
    std::string vae;
    std::string taesd; // tiny autoencoder, in place of the VAE

    std::string type;          // of the weights in memory, such as "q8_0"; empty: as in the file
    std::string sampler;       // empty: the model's own
    std::string scheduler;     // empty: the sampler's own
    std::uint32_t threads = 0; // at most, for a graph; 0: as many as the engine grants
    std::uint32_t steps = 0;   // 0: the model's own
    std::optional<float> guidance_scale;
    std::uint32_t width = 0; // of an image without `size`; 0: the model's own
    std::uint32_t height = 0;
    std::uint32_t max_pixels = 0; // of an image; 0: the model's own size
    bool from_image = true;       // loads the encoder of the VAE, for requests with `image`
    bool flash_attention = false;
    bool tiling = false; // decodes in tiles, which takes less memory and changes pixels at their edges
};

// Throws Error(SOTTO_ERROR_ARGUMENT).
Options read_options(std::string_view text);

} // namespace sotto::diffusion
