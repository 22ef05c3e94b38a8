#include "backends/onnx/resize.hpp"

#include <algorithm>
#include <cmath>

namespace sotto::onnx {
namespace {

constexpr std::size_t kColours = 3;

float largest_value(const image::Image& image) {
    std::uint8_t most = 1; // a black image is not divided by 0
    for (std::size_t i = 0; i < image.pixels.size(); i += image::kRgba) {
        most = std::max({most, image.pixels[i], image.pixels[i + 1], image.pixels[i + 2]});
    }
    return static_cast<float>(most);
}

} // namespace

std::vector<float> prepare_image(const image::Image& image, const Recipe& recipe) {
    constexpr float kWhite = 255;
    const auto [height, width] = recipe.size;
    const float divisor = recipe.by_largest ? largest_value(image) : kWhite;
    const auto plane = std::size_t{width} * height;
    std::vector<float> prepared(plane * kColours);
    image::ResizedRows rows(image, width, height);
    for (std::uint32_t y = 0; y < height; ++y) {
        const auto& row = rows.row(y);
        for (std::size_t colour = 0; colour < kColours; ++colour) {
            const float scale = 1 / (divisor * recipe.std[colour]);
            const float offset = recipe.mean[colour] / recipe.std[colour];
            float* to = prepared.data() + colour * plane + std::size_t{y} * width;
            for (std::uint32_t x = 0; x < width; ++x) {
                to[x] = row[x * kColours + colour] * scale - offset;
            }
        }
    }
    return prepared;
}

MaskRows::MaskRows(const Mask& mask, std::uint32_t width, std::uint32_t height)
    : width_(width), height_(height), vertical_(mask.height, height),
      wide_(std::size_t{mask.height} * width) {
    const image::Axis horizontal(mask.width, width);
    for (std::uint32_t y = 0; y < mask.height; ++y) {
        const float* from = mask.values.data() + std::size_t{y} * mask.width;
        float* to = wide_.data() + std::size_t{y} * width;
        for (std::uint32_t x = 0; x < width; ++x) {
            const auto taps = horizontal.at(x);
            float sum = 0;
            for (std::uint32_t k = 0; k < taps.count; ++k) {
                sum += taps.weights[k] * from[taps.first + k];
            }
            to[x] = sum;
        }
    }
}

void MaskRows::write(std::uint32_t y, float* row) const noexcept {
    std::fill(row, row + width_, 0.0F);
    const auto taps = vertical_.at(y);
    for (std::uint32_t k = 0; k < taps.count; ++k) {
        const float* from = wide_.data() + std::size_t{taps.first + k} * width_;
        for (std::uint32_t x = 0; x < width_; ++x) {
            row[x] += taps.weights[k] * from[x];
        }
    }
}

} // namespace sotto::onnx
