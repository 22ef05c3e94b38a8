// stable-diffusion.cpp, and what its C API does not tell: see sd_facts.hpp.
#include "backends/diffusion/sd_cpp/sd_facts.hpp"

// Its headers come first, so that the names below are replaced in stable-diffusion.cpp alone: the progress of
// denoise steps has a callback of its own, and previews are made only for requests that ask for them.
#include "ggml_extend.hpp"

#include "auto_encoder_kl.hpp"
#include "conditioner.hpp"
#include "control.hpp"
#include "denoiser.hpp"
#include "diffusion_model.hpp"
#include "esrgan.hpp"
#include "lora.hpp"
#include "pmid.hpp"
#include "tae.hpp"
#include "util.h"
#include "vae.hpp"

#include "backends/diffusion/run.hpp"
#include "runtime/fence.hpp"

namespace sotto::diffusion {
namespace {

// Throws Error if a value is none. stable-diffusion.cpp would make a black or grey image of it.
void check_numbers(const sd::Tensor<float>& values, const char* what) {
    if (DryRun::is_current()) {
        return;
    }
    for (const float value : values.values()) {
        if (!std::isfinite(value)) {
            throw llama::Error(
                SOTTO_ERROR_INFERENCE,
                std::string(what) + " NaN or infinite values; check the weights, or change guidance_scale"
            );
        }
    }
}

template <typename... Arguments>
sd::Tensor<float> checked_sampling(Arguments&&... arguments) {
    auto latents = sample_k_diffusion(std::forward<Arguments>(arguments)...);
    check_numbers(latents, "the latents after the denoise steps have");
    return latents;
}

sd_image_t checked_image(const sd::Tensor<float>& pixels, int frame = 0) {
    check_numbers(pixels, "the decoded image has");
    return tensor_to_sd_image(pixels, frame);
}

} // namespace
} // namespace sotto::diffusion

#define sample_k_diffusion sotto::diffusion::checked_sampling
#define tensor_to_sd_image sotto::diffusion::checked_image
#define pretty_progress sotto::diffusion::on_denoise_step
#define sd_get_preview_callback sotto::diffusion::preview_callback
#include "stable-diffusion.cpp"

namespace sotto::diffusion {
namespace {

struct Own {
    int side;
    int steps;
    float guidance;
};

// Defaults of the model cards.
Own own_of(SDVersion version) {
    if (sd_version_is_sd1(version)) {
        return {512, 20, 7.0F};
    }
    if (sd_version_is_sd2(version)) {
        return {768, 20, 7.0F};
    }
    if (sd_version_is_sdxl(version)) {
        return {1024, 20, 7.0F};
    }
    if (sd_version_is_sd3(version)) {
        return {1024, 28, 4.5F};
    }
    if (sd_version_is_z_image(version)) {
        return {1024, 9, 1.0F};
    }
    if (version == VERSION_FLUX2_KLEIN) {
        return {1024, 4, 1.0F};
    }
    return {1024, 20, 4.0F};
}

// FLUX has the guidance scale as an input of the network, or, distilled further, no guidance.
Own own_of_flux(const Flux::FluxParams& flux, SDVersion version) {
    if (flux.guidance_embed) {
        return {1024, 20, 3.5F};
    }
    const bool is_schnell = version == VERSION_FLUX && !flux.is_chroma;
    return is_schnell ? Own{1024, 4, 1.0F} : own_of(version);
}

} // namespace

Facts facts_of(const sd_ctx_t& context) {
    const auto& model = *context.sd;
    const auto* const flux = dynamic_cast<const FluxModel*>(model.diffusion_model.get());
    const auto own =
        flux != nullptr ? own_of_flux(flux->flux.flux_params, model.version) : own_of(model.version);
    Facts facts;
    facts.name = model_version_to_str[model.version];
    facts.multiple =
        model.first_stage_model->get_scale_factor() * context.sd->get_diffusion_model_down_factor();
    facts.side = own.side;
    facts.steps = own.steps;
    facts.guidance = own.guidance;
    facts.distilled = flux != nullptr && flux->flux.flux_params.guidance_embed;
    facts.encodes = !model.vae_decode_only;
    return facts;
}

bool has_adapters(const sd_ctx_t& context) {
    const auto& model = *context.sd;
    return !model.cond_stage_lora_models.empty() || !model.diffusion_lora_models.empty() ||
           !model.first_stage_lora_models.empty();
}

} // namespace sotto::diffusion
