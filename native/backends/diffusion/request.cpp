#include "backends/diffusion/request.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <utility>

#include <nlohmann/json.hpp>

#include "image/base64_text.hpp"
#include "image/decode.hpp"
#include "image/resize.hpp"
#include "request/fields.hpp"
#include "runtime/fence.hpp"

namespace sotto::diffusion {
namespace {

using llama::Error;
using llama::invalid_argument;
using Json = nlohmann::json;

constexpr std::uint8_t kVisible =
    128; // alpha from which on a pixel is opaque, luminance from which on it is white

// The engine has checked the types of the fields; a host may call a backend without it.
template <typename T>
T value_or(const Json& body, const char* name, T fallback) {
    const auto found = body.find(name);
    if (found == body.end() || found->is_null()) {
        return fallback;
    }
    try {
        return found->get<T>();
    } catch (const Json::exception&) {
        throw invalid_argument(name, found->dump().substr(0, 40), "a value of another type");
    }
}

std::string by(std::uint32_t width, std::uint32_t height) {
    return std::to_string(width) + "x" + std::to_string(height);
}

// The multiple of `step` that is nearest to `side`, and not 0.
std::uint32_t nearest(std::uint32_t side, std::uint32_t step) noexcept {
    return std::max(step, (side + step / 2) / step * step);
}

void read_size(PictureRequest& request, const Json& body, const Limits& limits, const image::Image& start) {
    const auto size = value_or<std::string>(body, field::size.name, "auto");
    const auto step = static_cast<std::uint32_t>(limits.facts.multiple);
    unsigned width = limits.width;
    unsigned height = limits.height;
    if (size != "auto") {
        if (std::sscanf(size.c_str(), "%4ux%4u", &width, &height) != 2 || width == 0 || height == 0) {
            throw invalid_argument(field::size.name, size, "width x height in pixels, such as \"512x768\"");
        }
    } else if (!start.pixels.empty()) {
        width = std::max(step, start.width / step * step);
        height = std::max(step, start.height / step * step);
    }
    if (width % step != 0 || height % step != 0) {
        throw invalid_argument(
            field::size.name,
            size,
            "multiples of " + std::to_string(step) + " for this model; use " +
                by(nearest(width, step), nearest(height, step))
        );
    }
    if (std::uint64_t{width} * height > limits.max_pixels) {
        throw invalid_argument(
            field::size.name,
            size == "auto" ? by(width, height) : size,
            "at most " + std::to_string(limits.max_pixels) + " pixels for this model, whose own size is " +
                by(limits.width, limits.height) + "; set size, or raise the load option max_pixels"
        );
    }
    request.width = width;
    request.height = height;
}

image::Image read_image(const Json& body, const char* name) {
    const auto given = value_or<std::string>(body, name, "");
    return given.empty() ? image::Image() : image::decode(image::read_base64_text(given, name), name);
}

// Sets red of each pixel to 255 where the mask asks for new pixels, otherwise to 0: those that are
// transparent, as OpenAI has it; of an opaque mask, the white ones.
void mark_masked(image::Image& mask) {
    bool has_holes = false;
    for (std::size_t i = 0; i < mask.count(); ++i) {
        has_holes = has_holes || mask.pixels[i * image::kRgba + 3] < kVisible;
    }
    for (std::size_t i = 0; i < mask.count(); ++i) {
        auto* const pixel = mask.pixels.data() + i * image::kRgba;
        const auto luminance = (299 * pixel[0] + 587 * pixel[1] + 114 * pixel[2]) / 1000;
        pixel[0] = (has_holes ? pixel[3] < kVisible : luminance >= kVisible) ? 255 : 0;
    }
}

// Puts transparent pixels in front of white.
void flatten(image::Image& image) {
    for (std::size_t i = 0; i < image.count(); ++i) {
        auto* const pixel = image.pixels.data() + i * image::kRgba;
        const unsigned alpha = pixel[3];
        for (int channel = 0; channel < 3; ++channel) {
            pixel[channel] =
                static_cast<std::uint8_t>((pixel[channel] * alpha + 255 * (255 - alpha) + 127) / 255);
        }
        pixel[3] = 255;
    }
}

void read_images(PictureRequest& request, const Json& body, const Limits& limits) {
    auto& start = request.start.pixels;
    auto& mask = request.start.mask;
    start = read_image(body, field::image.name);
    mask = read_image(body, field::mask.name);
    if (!start.pixels.empty() && !limits.facts.encodes) {
        throw Error(
            SOTTO_ERROR_ARGUMENT,
            "invalid image: this model generates images from text alone; load it with the option from_image "
            "true"
        );
    }
    if (!mask.pixels.empty() && (mask.width != start.width || mask.height != start.height)) {
        throw invalid_argument(
            field::mask.name,
            by(mask.width, mask.height) + " pixels",
            by(start.width, start.height) + ", the size of image"
        );
    }
    read_size(request, body, limits, start);
    if (!start.pixels.empty()) {
        flatten(start);
        start = image::resize(start, request.width, request.height);
    }
    if (!mask.pixels.empty()) {
        mark_masked(mask);
        mask = image::resize_nearest(mask, request.width, request.height);
    }
}

std::uint32_t quality_steps(const std::string& quality, std::uint32_t steps) {
    const float factor = quality == "low" ? 0.5F : quality == "high" || quality == "hd" ? 1.5F : 1.0F;
    return std::clamp(
        static_cast<std::uint32_t>(std::lround(factor * static_cast<float>(steps))), 1U, kMaxSteps
    );
}

void read_steps(PictureRequest& request, const Json& body, const Limits& limits) {
    const auto own =
        limits.options.steps != 0 ? limits.options.steps : static_cast<std::uint32_t>(limits.facts.steps);
    const auto quality = value_or<std::string>(body, field::quality.name, "auto");
    request.steps = value_or(body, field::steps.name, quality_steps(quality, own));
    if (request.steps == 0 || request.steps > kMaxSteps) {
        throw invalid_argument(field::steps.name, std::to_string(request.steps), "1 to 1,000");
    }
    request.computed = request.steps;
    if (!request.start.given()) {
        return;
    }
    constexpr float kStrength = 0.75F;
    request.start.strength = value_or(body, field::strength.name, kStrength);
    if (!(request.start.strength >= 0 && request.start.strength <= 1)) {
        throw invalid_argument(field::strength.name, std::to_string(request.start.strength), "0 to 1");
    }
    const auto share = static_cast<std::uint32_t>(static_cast<float>(request.steps) * request.start.strength);
    request.computed =
        request.start.strength > 0 ? std::min(request.steps, share + 1) : 0; // as stable-diffusion.cpp
}

std::uint32_t read_seed(const Json& body) {
    const auto seed = value_or<std::int64_t>(body, field::seed.name, -1);
    return seed < 0 ? std::random_device{}() : static_cast<std::uint32_t>(seed);
}

// stable-diffusion.cpp looks for weights like "(word:1.2)" with std::regex, which recurses for each
// character.
std::string read_prompt(const Json& body, const char* name) {
    constexpr std::size_t kMaxBytes = 4'096;
    auto prompt = value_or<std::string>(body, name, "");
    if (prompt.size() > kMaxBytes) {
        throw invalid_argument(
            name,
            std::to_string(prompt.size()) + " bytes",
            "at most 4,096 bytes for this model; shorten the text"
        );
    }
    return prompt;
}

void read_output(OutputForm& output, const Json& body, const Limits& limits) {
    output.previews = value_or(body, field::partial_images.name, output.previews);
    output.format = value_or(body, field::output_format.name, output.format);
    output.compression = value_or(body, field::output_compression.name, output.compression);
    output.as_data = value_or<std::string>(body, field::response_format.name, "b64_json") == "data";
    if (value_or(body, field::embed_metadata.name, true)) {
        output.model = value_or(body, field::model.name, limits.name);
    }
}

} // namespace

PictureRequest read_request(std::string_view text, const Limits& limits) {
    const auto body = Json::parse(text, nullptr, false);
    if (!body.is_object()) {
        throw Error(SOTTO_ERROR_ARGUMENT, "invalid body: expected a JSON object");
    }
    PictureRequest request;
    request.prompt = read_prompt(body, field::prompt.name);
    request.negative_prompt = read_prompt(body, field::negative_prompt.name);
    read_images(request, body, limits);
    read_steps(request, body, limits);
    const auto own = limits.options.guidance_scale.value_or(limits.facts.guidance);
    request.guidance = value_or(body, field::guidance_scale.name, own);
    if (limits.facts.distilled && !request.negative_prompt.empty()) {
        throw invalid_argument(
            field::negative_prompt.name,
            request.negative_prompt.substr(0, 40),
            "none: " + limits.facts.name + " has no negative prompt; remove the field"
        );
    }
    request.seed = read_seed(body);
    request.count = value_or(body, field::n.name, request.count);
    read_output(request.output, body, limits);
    return request;
}

} // namespace sotto::diffusion
