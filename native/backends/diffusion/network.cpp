#include "backends/diffusion/network.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <thread>
#include <utility>

#include "backends/diffusion/load_run.hpp"
#include "devices/cpu/threads.hpp"
#include "image/image.hpp"
#include "runtime/guard.hpp"

namespace sotto::diffusion {
namespace {

using llama::Call;
using llama::Error;

constexpr std::uint32_t kLoadThreads = 4; // more do not read a file faster

std::uint32_t load_threads(const Options& options) {
    const auto cores = std::max(std::thread::hardware_concurrency(), 1U);
    return std::min({cores, kLoadThreads, options.threads != 0 ? options.threads : kLoadThreads});
}

// Value of stable-diffusion.cpp whose name is `name`; `otherwise` for an empty name.
template <typename Value, typename NameOf>
Value named(const std::string& name, Value count, NameOf&& name_of, Value otherwise) {
    for (int i = 0; i < static_cast<int>(count); ++i) {
        const auto value = static_cast<Value>(i);
        if (const char* one = name_of(value); one != nullptr && name == one) {
            return value;
        }
    }
    return otherwise;
}

sd_ctx_params_t params_of(const ModelFiles& files) {
    const auto& options = files.options;
    sd_ctx_params_t params;
    sd_ctx_params_init(&params);
    params.model_path = files.checkpoint.c_str();
    params.diffusion_model_path = options.diffusion_model.c_str();
    params.clip_l_path = options.clip_l.c_str();
    params.clip_g_path = options.clip_g.c_str();
    params.t5xxl_path = options.t5xxl.c_str();
    params.llm_path = options.llm.c_str();
    params.vae_path = options.vae.c_str();
    params.taesd_path = options.taesd.c_str();
    params.vae_decode_only = !options.from_image;
    params.free_params_immediately = false;
    params.n_threads = static_cast<int>(load_threads(options));
    params.wtype = named(options.type, SD_TYPE_COUNT, sd_type_name, SD_TYPE_COUNT);
    params.lora_apply_mode = LORA_APPLY_AT_RUNTIME; // keeps the weights as they are
    params.flash_attn = params.diffusion_flash_attn = options.flash_attention;
    return params;
}

// Copies `channels` of an RGBA image.
std::vector<std::uint8_t> planes_of(const image::Image& image, std::uint32_t channels) {
    std::vector<std::uint8_t> made(image.count() * channels);
    for (std::size_t i = 0; i < image.count(); ++i) {
        std::copy_n(image.pixels.data() + i * image::kRgba, channels, made.data() + i * channels);
    }
    return made;
}

// A request's parameters, and what they point to.
class Parameters {
public:
    Parameters(const PictureRequest& request, std::uint32_t index, const Options& options, const Facts& facts)
        : start_(planes_of(request.start.pixels, image::kRgb)), mask_(planes_of(request.start.mask, 1)) {
        sd_img_gen_params_init(&params_);
        params_.prompt = request.prompt.c_str();
        params_.negative_prompt = request.negative_prompt.c_str();
        params_.width = static_cast<int>(request.width);
        params_.height = static_cast<int>(request.height);
        params_.seed = request.seed_of(index);
        params_.strength = request.start.strength;
        params_.vae_tiling_params.enabled = options.tiling;
        auto& sampling = params_.sample_params;
        sampling.sample_steps = static_cast<int>(request.steps);
        sampling.sample_method =
            named(options.sampler, SAMPLE_METHOD_COUNT, sd_sample_method_name, SAMPLE_METHOD_COUNT);
        sampling.scheduler = named(options.scheduler, SCHEDULER_COUNT, sd_scheduler_name, SCHEDULER_COUNT);
        if (facts.distilled) {
            sampling.guidance.txt_cfg = 1;
            sampling.guidance.distilled_guidance = request.guidance;
        } else {
            sampling.guidance.txt_cfg = std::max(request.guidance, 1.0F);
        }
        if (!start_.empty()) {
            params_.init_image = {request.width, request.height, image::kRgb, start_.data()};
        }
        if (!mask_.empty()) {
            params_.mask_image = {request.width, request.height, 1, mask_.data()};
        }
    }
    Parameters(const Parameters&) = delete;
    Parameters& operator=(const Parameters&) = delete;

    void set_adapters(const ScaledAdapters& adapters) {
        for (const auto& [adapter, scale] : adapters) {
            adapters_.push_back({false, scale, adapter->path.c_str()});
        }
        params_.loras = adapters_.data();
        params_.lora_count = static_cast<std::uint32_t>(adapters_.size());
    }

    const sd_img_gen_params_t& get() const noexcept { return params_; }

private:
    std::vector<std::uint8_t> start_;
    std::vector<std::uint8_t> mask_;
    std::vector<sd_lora_t> adapters_;
    sd_img_gen_params_t params_{};
};

Error too_large(const PictureRequest& request) {
    return Error(
        SOTTO_ERROR_MEMORY,
        "an image of " + std::to_string(request.width) + "x" + std::to_string(request.height) +
            " pixels from a prompt of " + std::to_string(request.prompt.size()) +
            " bytes takes more memory than the model was opened with; shorten the prompt, or raise the load "
            "option max_pixels"
    );
}

struct FreeImages {
    void operator()(sd_image_t* images) const noexcept {
        std::free(images->data);
        std::free(images);
    }
};

} // namespace

Network::Network(const ModelFiles& files, Place place, const std::function<void(float)>& report)
    : options_(files.options), place_(std::move(place)) {
    const MemoryMeter::Scope counted(meter_);
    const LoadRun run(report, place_.device);
    llama::require_threads(load_threads(options_));
    const auto params = params_of(files);
    context_.reset(new_sd_ctx(&params));
    run.check();
    if (context_ == nullptr) {
        Call::current()->refuse("the file is no diffusion model that stable-diffusion.cpp knows");
    }
    if (!sd_ctx_supports_image_generation(context_.get())) {
        throw Error(SOTTO_ERROR_MODEL, "the model is a video model: expected a model of images");
    }
    facts_ = facts_of(*context_);
    weights_ = meter_.held();
}

Network::~Network() {
    if (place_.loss.keeps_contexts()) { // the driver of a lost device may wait for it without end
        static_cast<void>(context_.release());
        return;
    }
    const MemoryMeter::Scope counted(meter_);
    context_.reset();
}

std::optional<RgbImage>
Network::generate(const PictureRequest& request, std::uint32_t index, const ScaledAdapters& adapters) {
    const MemoryMeter::Scope counted(meter_);
    Parameters params(request, index, options_, facts_);
    params.set_adapters(adapters);
    std::unique_ptr<sd_image_t, FreeImages> made;
    try {
        made.reset(generate_image(context_.get(), &params.get()));
    } catch (const std::bad_alloc&) {
        if (meter_.take_refused()) {
            throw too_large(request);
        }
        throw;
    }
    if (made == nullptr || made->data == nullptr) {
        return std::nullopt;
    }
    if (!adapters.empty() && !has_adapters(*context_)) {
        throw Error(
            SOTTO_ERROR_MODEL,
            "the adapter does not fit " + facts_.name + ": none of its tensors has a name of this model"
        );
    }
    const auto bytes = std::size_t{made->width} * made->height * made->channel;
    return RgbImage{made->width, made->height, {made->data, made->data + bytes}};
}

Network::Needs Network::measure(const PictureRequest& request) {
    const DryRun run;
    meter_.take_peak();
    if (!generate(request, 0)) {
        Call::current()->refuse("the model generates no images");
    }
    const auto peak = meter_.take_peak();
    return {peak - std::min(peak, weights_), run.costs()};
}

void Network::limit_to(std::uint64_t bytes) {
    most_ = weights_ + bytes;
    meter_.limit_to(most_);
}

} // namespace sotto::diffusion
