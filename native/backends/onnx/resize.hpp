// Bilinear resizing.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "backends/onnx/recipe.hpp"
#include "image/image.hpp"

namespace sotto::onnx {

// Weights of one axis: output i is the sum of weight[k] * input[first + k]. A triangle filter with pixel
// centres at 0.5, as wide as the scale where the image becomes smaller, so that no pixel is left out: what
// Pillow calls BILINEAR.
class Axis {
public:
    Axis(std::uint32_t from, std::uint32_t to);

    struct Taps {
        std::uint32_t first;
        std::uint32_t count;
        const float* weights;
    };
    Taps at(std::uint32_t i) const noexcept {
        return {firsts_[i], counts_[i], weights_.data() + std::size_t{i} * width_};
    }
    std::uint32_t max_taps() const noexcept { return width_; }

private:
    std::uint32_t width_;
    std::vector<std::uint32_t> firsts_;
    std::vector<std::uint32_t> counts_;
    std::vector<float> weights_;
};

// Returns the model's input: planes red, green and blue of recipe.size. Alpha is ignored.
std::vector<float> prepare_image(const image::Image& image, const Recipe& recipe);

// A mask enlarged or reduced to the size of an image, computed row by row.
class MaskRows {
public:
    MaskRows(const Mask& mask, std::uint32_t width, std::uint32_t height);

    std::uint32_t width() const noexcept { return width_; }
    std::uint32_t height() const noexcept { return height_; }
    // Writes row `y`, `width` values from 0 to 1.
    void write(std::uint32_t y, float* row) const noexcept;

private:
    std::uint32_t width_;
    std::uint32_t height_;
    Axis vertical_;
    std::vector<float> wide_; // the mask, resized horizontally
};

} // namespace sotto::onnx
