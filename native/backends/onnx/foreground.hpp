// Colours of the foreground, where it and the background are mixed.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backends/onnx/box_mean.hpp"
#include "image/image.hpp"

namespace sotto::onnx {

// Estimates the foreground's colours from an image and its alpha by blur fusion: Forte and Pitié,
// "Approximate Fast Foreground Colour Estimation", ICIP 2021, in two passes as there. The first pass, whose
// window is 90 pixels, works on sums of cells; the second, of 6 pixels, on pixels. All colours are from 0
// to 1.
class Foreground {
public:
    // Both are of the same size and outlive this object.
    Foreground(const image::Image& image, const std::vector<std::uint8_t>& alpha);

    // Adds rows [top, bottom), whose alpha is final, to the first pass. Each row once.
    void add(std::uint32_t top, std::uint32_t bottom);
    // Ends the first pass, after all rows.
    void blend();
    // Writes rows [top, bottom) of the result: the image's own colours where alpha is 255, estimated ones
    // where alpha is less, and black where no foreground is near.
    void write(std::uint32_t top, std::uint32_t bottom, image::Image& result);

private:
    using Colour = std::array<float, 3>;

    struct Mixed {
        Colour foreground;
        Colour background;
    };

    Mixed coarse_at(std::uint32_t x, std::uint32_t y) const noexcept;
    void load(const Region& region);
    void write_pixel(std::uint32_t x, std::uint32_t y, std::size_t place, std::uint8_t* to) const noexcept;
    float alpha_at(std::uint32_t x, std::uint32_t y) const noexcept;
    Colour colour_at(std::uint32_t x, std::uint32_t y) const noexcept;

    const image::Image& image_;
    const std::vector<std::uint8_t>& alpha_;
    const std::uint32_t cell_; // pixels on a side
    const std::uint32_t columns_;
    const std::uint32_t rows_;
    BoxMean box_;
    // Of the cells: sums of colour x alpha, alpha, colour x (1 - alpha), 1 - alpha; after blend(), the means
    // of the foreground and of the background.
    std::array<std::vector<float>, 8> cells_;
    // Of a region: foreground x alpha, alpha, background x (1 - alpha).
    std::array<std::vector<float>, 7> planes_;
};

} // namespace sotto::onnx
