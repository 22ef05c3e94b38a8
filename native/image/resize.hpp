// Resizing of images.
#pragma once

#include <cstdint>
#include <vector>

#include "image/image.hpp"

namespace sotto::image {

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

// The rows of an image in another size, from top to bottom. Alpha is ignored. `image` outlives this object.
class ResizedRows {
public:
    ResizedRows(const Image& image, std::uint32_t width, std::uint32_t height);

    // Returns row `y`: `width` times red, green and blue, from 0 to 255.
    const std::vector<float>& row(std::uint32_t y);

private:
    const float* wide_row(std::uint32_t y);
    void widen(const std::uint8_t* from, float* to) const noexcept;

    const Image& image_;
    const Axis horizontal_;
    const Axis vertical_;
    const std::uint32_t width_;
    std::vector<std::uint32_t> kept_; // numbers of the input's rows that are kept
    std::vector<float> wide_;         // they, resized horizontally
    std::vector<float> sums_;
};

// Returns an opaque image of another size. Alpha is ignored.
Image resize(const Image& image, std::uint32_t width, std::uint32_t height);
// Returns an image of another size whose pixels are pixels of `image`.
Image resize_nearest(const Image& image, std::uint32_t width, std::uint32_t height);

} // namespace sotto::image
