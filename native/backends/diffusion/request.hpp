// The fields of a request to generate images, checked against what a model can do.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/diffusion/options.hpp"
#include "backends/diffusion/sd_cpp/sd_facts.hpp"
#include "image/image.hpp"

namespace sotto::diffusion {

// The image that generation starts from.
struct StartImage {
    image::Image pixels; // of the size of the images; empty: generation starts from noise
    image::Image mask;   // likewise; red 255: generated, 0: kept; empty: all is generated
    float strength = 1;

    bool given() const noexcept { return !pixels.pixels.empty(); }
};

// Form of the response.
struct OutputForm {
    std::string format = "png"; // or "webp" or "raw"
    int compression = 100;
    bool as_data = false;       // files as data of steps, not as base64
    std::uint32_t previews = 0; // of each image
    std::string model;          // for the metadata of files; empty: no metadata
};

struct PictureRequest {
    std::string prompt;
    std::string negative_prompt;
    std::uint32_t count = 1;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint32_t steps = 0;
    std::uint32_t computed = 0; // of the steps, fewer if generation starts from an image; 0: none
    float guidance = 0;
    std::uint32_t seed = 0;
    StartImage start;
    OutputForm output;

    std::uint32_t seed_of(std::uint32_t index) const noexcept { return seed + index; }
};

// Limits of a model's requests.
struct Limits {
    const Facts& facts;
    const Options& options;
    std::uint32_t width = 0; // of an image without `size`
    std::uint32_t height = 0;
    std::uint32_t max_pixels = 0;
    std::string name; // of the model
};

// Reads a request's body and decodes its images. Throws Error(SOTTO_ERROR_ARGUMENT).
PictureRequest read_request(std::string_view body, const Limits& limits);

} // namespace sotto::diffusion
