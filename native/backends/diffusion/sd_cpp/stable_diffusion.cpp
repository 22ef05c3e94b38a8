// stable-diffusion.cpp, and what its C API does not tell: see sd_facts.hpp.
#include "backends/diffusion/sd_cpp/sd_facts.hpp"

// Its headers come first, so that the names below are replaced in stable-diffusion.cpp alone: the progress of
// denoise steps is told from the progress of tiles, and previews are made for requests that ask for them.
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
    facts.control = model.control_net != nullptr;
    facts.previews = model.version != VERSION_CHROMA_RADIANCE;
    return facts;
}

bool has_adapters(const sd_ctx_t& context) {
    const auto& model = *context.sd;
    return !model.cond_stage_lora_models.empty() || !model.diffusion_lora_models.empty() ||
           !model.first_stage_lora_models.empty();
}

} // namespace sotto::diffusion
