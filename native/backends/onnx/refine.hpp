// Alpha of an image: the mask, with edges that follow the image's.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "backends/onnx/box_mean.hpp"
#include "backends/onnx/resize.hpp"
#include "image/image.hpp"

namespace sotto::onnx {

// Computes alpha for rows [top, bottom) from the mask alone. `alpha`: of the whole image, 0 to 255.
void write_alpha(
    const MaskRows& mask, std::uint32_t top, std::uint32_t bottom, std::vector<std::uint8_t>& alpha
);

// As write_alpha(), and filters the pixels whose mask is neither 0 nor 1 with the image's colours as
// guide: the guided filter of He, Sun and Tang, "Guided Image Filtering", ECCV 2010. Its window is as wide as
// the mask's edges. Pixels weigh as much as their mask is certain: those that the mask leaves open then get
// the alpha of the certain ones of their colour, near 0 or 1. Reuses its buffers.
class EdgeRefiner {
public:
    // `mask` is not kept; `rows`: the mask in the image's size.
    EdgeRefiner(const image::Image& image, const Mask& mask, const MaskRows& rows);

    void refine(std::uint32_t top, std::uint32_t bottom, std::vector<std::uint8_t>& alpha);

private:
    Region
    uncertain_in(const std::vector<float>& rows, std::uint32_t top, std::uint32_t bottom) const noexcept;
    void load(const Region& region);
    void filter(const Region& region);
    void sum_up(std::size_t count);
    void solve(std::size_t i) noexcept;

    const image::Image& image_;
    const MaskRows& mask_;
    const std::uint32_t radius_;
    BoxMean box_;
    std::vector<float> row_;
    std::array<std::vector<float>, 3> guide_; // colours from 0 to 1
    std::vector<float> input_;                // the mask; then the offset
    std::vector<float> weights_;
    std::array<std::vector<float>, 3> means_;    // of the guide
    std::array<std::vector<float>, 6> squares_;  // of the guide: red x red, red x green, ..., blue x blue
    std::array<std::vector<float>, 3> products_; // of guide and input; then the factors
};

} // namespace sotto::onnx
