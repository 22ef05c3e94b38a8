// Bilinear resizing.
#pragma once

#include <cstdint>
#include <vector>

#include "backends/onnx/recipe.hpp"
#include "image/image.hpp"
#include "image/resize.hpp"

namespace sotto::onnx {

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
    image::Axis vertical_;
    std::vector<float> wide_; // the mask, resized horizontally
};

} // namespace sotto::onnx
