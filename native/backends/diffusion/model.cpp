#include "backends/diffusion/model.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <nlohmann/json.hpp>

#include "backends/diffusion/model_files.hpp"
#include "runtime/guard.hpp"

namespace sotto::diffusion {
namespace {

using llama::Error;
using Json = nlohmann::json;

// Bytes of a pixel outside of ggml: the decoded image as floats, pixels, the file, and its base64.
constexpr std::uint64_t kBytesPerPixel = 64;
constexpr std::uint64_t kGraphs = std::uint64_t{16} << 20; // bytes of the tables of a graph
constexpr std::uint64_t kPerPixelAtMost = 9'000;           // an estimate, before a model is loaded

std::uint32_t floor_to(std::uint32_t side, std::uint32_t step) noexcept {
    return std::max(step, side / step * step);
}

// The largest image of about the proportions of `width` and `height`.
PictureRequest largest(const Limits& limits) {
    const auto step = static_cast<std::uint32_t>(limits.facts.multiple);
    PictureRequest request;
    for (int i = 0; i < 300; ++i) { // longer prompts may need more memory than is measured, and are refused
        request.prompt += "word ";
    }
    request.width = floor_to(static_cast<std::uint32_t>(std::sqrt(limits.max_pixels)), step);
    request.height = floor_to(limits.max_pixels / request.width, step);
    request.steps = request.computed = 1;
    request.guidance = std::max(limits.facts.guidance, 2.0F);
    return request;
}

image::Image grey(std::uint32_t width, std::uint32_t height) {
    return {width, height, std::vector<std::uint8_t>(std::size_t{width} * height * image::kRgba, 128)};
}

Place place_of(
    const std::vector<llama::Device>& devices, const llama::Device* device, const llama::Loss& loss
) {
    if (device == nullptr) {
        return {};
    }
    auto* const handle = llama::ggml_device(devices, *device);
    if (handle == nullptr) {
        throw Error(
            SOTTO_ERROR_UNSUPPORTED,
            "stable-diffusion.cpp cannot compute on device '" + device->name + "'; use another device"
        );
    }
    return {handle, loss};
}

void fill(sotto_model_info& info) {
    info.capabilities = SOTTO_CAPABILITY_ABORTABLE | SOTTO_CAPABILITY_PREPARABLE;
    info.streams = 1;
    info.operations = SOTTO_OPERATION_IMAGE_GENERATE;
}

} // namespace

Model::Model(
    const sotto_model_source& source,
    const sotto_backend_host& host,
    const std::vector<llama::Device>& devices
)
    : host_(host), options_(read_options(llama::view(source.options))),
      device_(llama::choose_device(devices, llama::view(source.device))),
      loss_(device_ != nullptr ? llama::loss_of(*device_) : llama::Loss()) {
    check_file_access(source.files);
    const llama::Call call(host, llama::Call::Abort::Throws, loss_);
    try {
        load(source, place_of(devices, device_, loss_));
    } catch (const std::exception& error) {
        llama::throw_if_lost(error);
        throw;
    }
}

void Model::load(const sotto_model_source& source, const Place& place) {
    bool cancelled = false;
    const auto report = [&](float share) {
        constexpr float kLoaded = 0.95F;
        cancelled = source.progress(source.context, share * kLoaded) != 0 || cancelled;
    };
    const std::string path(llama::view(source.path));
    report(0);
    network_ = std::make_unique<Network>(check_files(path, options_), place, report);
    const auto& facts = network_->facts();
    const auto own = static_cast<std::uint32_t>(facts.side);
    const auto width = options_.width != 0 ? options_.width : own;
    const auto height = options_.height != 0 ? options_.height : own;
    const auto most = options_.max_pixels != 0 ? options_.max_pixels : width * height;
    const auto name = system_path(path).stem().u8string();
    limits_ = std::make_unique<Limits>(
        Limits{facts, options_, width, height, most, std::string(name.begin(), name.end())}
    );
    measure();
    report(1);
    if (cancelled) {
        throw Error(SOTTO_ERROR_CANCELLED, "loading was cancelled");
    }
}

void Model::measure() {
    const auto& facts = network_->facts();
    const auto size = std::to_string(limits_->width) + "x" + std::to_string(limits_->height);
    const auto step = static_cast<std::uint32_t>(facts.multiple);
    if (limits_->width % step != 0 || limits_->height % step != 0) {
        throw llama::invalid_argument(
            "options.size", size, "multiples of " + std::to_string(step) + " for this model"
        );
    }
    if (std::uint64_t{limits_->width} * limits_->height > limits_->max_pixels) {
        throw llama::invalid_argument(
            "options.max_pixels", std::to_string(limits_->max_pixels), "at least those of the size " + size
        );
    }
    std::uint64_t bytes = 0;
    from_noise_ = measure_images(false, bytes);
    if (facts.encodes) {
        from_image_ = measure_images(true, bytes);
    }
    constexpr std::uint64_t kShare = 16; // sides of other proportions take slightly more
    bytes += bytes / kShare + (std::uint64_t{1} << 20);
    network_->limit_to(bytes);
    compute_ = bytes;
    description_ =
        Json{
            {"architecture", facts.name},
            {"steps", options_.steps != 0 ? options_.steps : static_cast<std::uint32_t>(facts.steps)},
            {"guidance_scale", options_.guidance_scale.value_or(facts.guidance)},
            {"size", size},
            {"size_multiple", facts.multiple},
            {"max_pixels", limits_->max_pixels},
            {"device", device_ != nullptr ? device_->name : "cpu"},
        }
            .dump();
}

ExpectedCosts Model::measure_images(bool from_image, std::uint64_t& bytes) {
    const auto step = static_cast<std::uint32_t>(limits_->facts.multiple);
    const auto measured = [&](std::uint32_t divisor) {
        auto request = largest(*limits_);
        request.width = floor_to(request.width / divisor, step);
        request.height = floor_to(request.height / divisor, step);
        if (from_image) {
            request.start.pixels = grey(request.width, request.height);
        }
        const auto needs = network_->measure(request);
        bytes = std::max(bytes, needs.bytes);
        return ExpectedCosts::Sample{static_cast<double>(request.width) * request.height, needs.costs};
    };
    const auto larger = measured(1);
    return {measured(2), larger};
}

PhaseCosts Model::expected(const PictureRequest& request) const noexcept {
    if (request.computed == 0) {
        return {};
    }
    const auto pixels = static_cast<double>(request.width) * request.height;
    auto costs = (request.start.given() ? from_image_ : from_noise_).of(pixels);
    if (request.guidance <= 1 && !limits_->facts.distilled) { // measured with guidance: two passes a step
        costs.step /= 2;
    }
    return costs;
}

std::unique_ptr<Picture> Model::prepare(std::string_view body) const {
    auto request = read_request(body, *limits_);
    const auto costs = expected(request);
    return std::make_unique<Picture>(std::move(request), *network_, host_, options_.threads, costs);
}

std::unique_ptr<Adapter> Model::open_adapter(const sotto_adapter_source& source) {
    auto adapter = std::make_unique<Adapter>(check_adapter(source));
    network_->allow(static_cast<std::int64_t>(adapter->bytes));
    return adapter;
}

void Model::close_adapter(std::unique_ptr<Adapter> adapter) {
    network_->allow(-static_cast<std::int64_t>(adapter->bytes));
}

void Model::describe(sotto_model_info& info) const {
    fill(info);
    info.weights = network_->weights();
    info.compute = compute_;
    (device_ != nullptr ? info.host : info.compute) += kGraphs + kBytesPerPixel * limits_->max_pixels;
    info.description = llama::str(description_);
}

void measure(
    const sotto_model_source& source, const std::vector<llama::Device>& devices, sotto_model_info& info
) {
    constexpr std::uint64_t kSide = 1'024;
    check_file_access(source.files);
    const std::string path(llama::view(source.path));
    const auto files = check_files(path, read_options(llama::view(source.options)));
    const auto& options = files.options;
    fill(info);
    for (const auto& file :
         {files.checkpoint,
          options.diffusion_model,
          options.clip_l,
          options.clip_g,
          options.t5xxl,
          options.llm,
          options.vae,
          options.taesd}) {
        std::error_code failed;
        const auto bytes = file.empty() ? 0 : std::filesystem::file_size(system_path(file), failed);
        info.weights += failed ? 0 : bytes;
    }
    const auto own = options.width != 0 ? std::uint64_t{options.width} * options.height : kSide * kSide;
    const auto pixels = options.max_pixels != 0 ? std::uint64_t{options.max_pixels} : own;
    info.compute = pixels * kPerPixelAtMost;
    if (llama::choose_device(devices, llama::view(source.device)) != nullptr) {
        info.host = kGraphs + kBytesPerPixel * pixels;
    }
}

} // namespace sotto::diffusion
