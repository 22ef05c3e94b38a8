#include "backends/onnx/foreground.hpp"

#include <algorithm>
#include <cmath>

namespace sotto::onnx {
namespace {

constexpr float kWhite = 255;
constexpr std::size_t kColours = 3;
constexpr std::size_t kAlpha = 3;      // index of alpha among the cells' and the region's planes
constexpr std::size_t kBackground = 4; // index of the background's first colour
constexpr std::size_t kRest = 7;       // index of 1 - alpha among the cells' planes
constexpr float kTiny = 1e-5F;         // as in the paper's code
constexpr std::uint32_t kNear = 6;     // pixels, of the second pass

std::uint32_t cell_of(const image::Image& image) {
    constexpr std::uint32_t kCells = 512; // on the longer side
    return (std::max(image.width, image.height) + kCells - 1) / kCells;
}

// The foreground that explains `seen` best, given an estimate of both layers: step 2 of the paper.
float fused(float seen, float alpha, float foreground, float background) noexcept {
    return std::clamp(
        foreground + alpha * (seen - alpha * foreground - (1 - alpha) * background), 0.0F, 1.0F
    );
}

// A position between the centres of two cells.
struct Between {
    std::uint32_t low;
    std::uint32_t high;
    float share; // of the higher one
};

Between between(std::uint32_t pixel, std::uint32_t cell, std::uint32_t cells) noexcept {
    const float at = std::max((static_cast<float>(pixel) + 0.5F) / static_cast<float>(cell) - 0.5F, 0.0F);
    const auto low = std::min(static_cast<std::uint32_t>(at), cells - 1);
    return {low, std::min(low + 1, cells - 1), std::min(at - static_cast<float>(low), 1.0F)};
}

} // namespace

Foreground::Foreground(const image::Image& image, const std::vector<std::uint8_t>& alpha)
    : image_(image), alpha_(alpha), cell_(cell_of(image)), columns_((image.width + cell_ - 1) / cell_),
      rows_((image.height + cell_ - 1) / cell_) {
    for (auto& plane : cells_) {
        plane.assign(std::size_t{columns_} * rows_, 0.0F);
    }
}

float Foreground::alpha_at(std::uint32_t x, std::uint32_t y) const noexcept {
    return static_cast<float>(alpha_[std::size_t{y} * image_.width + x]) / kWhite;
}

Foreground::Colour Foreground::colour_at(std::uint32_t x, std::uint32_t y) const noexcept {
    const auto* pixel = image_.row(y) + std::size_t{x} * image::kRgba;
    return {
        static_cast<float>(pixel[0]) / kWhite,
        static_cast<float>(pixel[1]) / kWhite,
        static_cast<float>(pixel[2]) / kWhite
    };
}

void Foreground::add(std::uint32_t top, std::uint32_t bottom) {
    for (auto y = top; y < bottom; ++y) {
        const auto row = std::size_t{y / cell_} * columns_;
        for (std::uint32_t x = 0; x < image_.width; ++x) {
            const auto place = row + x / cell_;
            const float alpha = alpha_at(x, y);
            const auto colour = colour_at(x, y);
            for (std::size_t i = 0; i < kColours; ++i) {
                cells_[i][place] += colour[i] * alpha;
                cells_[kBackground + i][place] += colour[i] * (1 - alpha);
            }
            cells_[kAlpha][place] += alpha;
            cells_[kRest][place] += 1 - alpha;
        }
    }
}

void Foreground::blend() {
    constexpr std::uint32_t kFar = 90; // pixels, of the first pass
    for (auto& plane : cells_) {
        box_.apply(plane, columns_, rows_, std::max(kFar / cell_, 1U));
    }
    for (std::size_t place = 0; place < cells_[0].size(); ++place) {
        for (std::size_t i = 0; i < kColours; ++i) {
            cells_[i][place] /= cells_[kAlpha][place] + kTiny;
            cells_[kBackground + i][place] /= cells_[kRest][place] + kTiny;
        }
    }
}

Foreground::Mixed Foreground::coarse_at(std::uint32_t x, std::uint32_t y) const noexcept {
    const auto column = between(x, cell_, columns_);
    const auto row = between(y, cell_, rows_);
    const auto upper = std::size_t{row.low} * columns_;
    const auto lower = std::size_t{row.high} * columns_;
    const auto sample = [&](const std::vector<float>& plane) {
        const float above = std::lerp(plane[upper + column.low], plane[upper + column.high], column.share);
        const float below = std::lerp(plane[lower + column.low], plane[lower + column.high], column.share);
        return std::lerp(above, below, row.share);
    };
    Mixed mixed;
    for (std::size_t i = 0; i < kColours; ++i) {
        mixed.foreground[i] = sample(cells_[i]);
        mixed.background[i] = sample(cells_[kBackground + i]);
    }
    return mixed;
}

// The first pass at each pixel of a region, then the means of the second.
void Foreground::load(const Region& region) {
    for (auto& plane : planes_) {
        plane.resize(region.count());
    }
    std::size_t place = 0;
    for (auto y = region.top; y < region.bottom; ++y) {
        for (auto x = region.left; x < region.right; ++x, ++place) {
            const float alpha = alpha_at(x, y);
            const auto colour = colour_at(x, y);
            const auto coarse = coarse_at(x, y);
            planes_[kAlpha][place] = alpha;
            for (std::size_t i = 0; i < kColours; ++i) {
                const float background = coarse.background[i];
                planes_[i][place] = alpha * fused(colour[i], alpha, coarse.foreground[i], background);
                planes_[kBackground + i][place] = (1 - alpha) * background;
            }
        }
    }
    for (auto& plane : planes_) {
        box_.apply(plane, region.width(), region.height(), kNear);
    }
}

void Foreground::write_pixel(
    std::uint32_t x, std::uint32_t y, std::size_t place, std::uint8_t* to
) const noexcept {
    const float near = planes_[kAlpha][place];
    const float alpha = alpha_at(x, y);
    const auto colour = colour_at(x, y);
    for (std::size_t i = 0; i < kColours; ++i) {
        const float foreground = planes_[i][place] / (near + kTiny);
        const float background = planes_[kBackground + i][place] / (1 - near + kTiny);
        to[i] = static_cast<std::uint8_t>(fused(colour[i], alpha, foreground, background) * kWhite + 0.5F);
    }
}

void Foreground::write(std::uint32_t top, std::uint32_t bottom, image::Image& result) {
    Region core{image_.width, bottom, 0, top}; // of the mixed pixels
    for (auto y = top; y < bottom; ++y) {
        for (std::uint32_t x = 0; x < image_.width; ++x) {
            const auto alpha = alpha_[std::size_t{y} * image_.width + x];
            const auto* from = image_.row(y) + std::size_t{x} * image::kRgba;
            auto* to = result.row(y) + std::size_t{x} * image::kRgba;
            for (std::size_t i = 0; i < kColours; ++i) {
                to[i] = alpha == 255 ? from[i] : std::uint8_t{0};
            }
            to[kAlpha] = alpha;
            if (alpha != 0 && alpha != 255) {
                core.left = std::min(core.left, x);
                core.right = std::max(core.right, x + 1);
                core.top = std::min(core.top, y);
                core.bottom = std::max(core.bottom, y + 1);
            }
        }
    }
    if (core.empty()) {
        return;
    }
    // Transparent pixels beside the mixed ones get colours, too: a texture's filter mixes them in.
    const auto edge = core.grown(kNear, image_.width, image_.height);
    const auto region = edge.grown(kNear, image_.width, image_.height);
    load(region);
    for (auto y = std::max(edge.top, top); y < std::min(edge.bottom, bottom); ++y) {
        for (auto x = edge.left; x < edge.right; ++x) {
            if (alpha_[std::size_t{y} * image_.width + x] != 255) {
                const auto place = std::size_t{y - region.top} * region.width() + (x - region.left);
                write_pixel(x, y, place, result.row(y) + std::size_t{x} * image::kRgba);
            }
        }
    }
}

} // namespace sotto::onnx
