// Pixels of an image in memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace sotto::image {

constexpr std::size_t kMaxFileBytes = std::size_t{32} << 20;
constexpr std::uint32_t kMaxPixels = std::uint32_t{1} << 24;
constexpr std::uint32_t kRgba = 4; // bytes per pixel
constexpr std::uint32_t kRgb = 3;

// RGBA, 8 bits per channel, not premultiplied, rows from top to bottom without padding.
struct Image {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::vector<std::uint8_t> pixels;

    std::size_t count() const noexcept { return std::size_t{width} * height; }
    const std::uint8_t* row(std::uint32_t y) const noexcept {
        return pixels.data() + std::size_t{y} * width * kRgba;
    }
    std::uint8_t* row(std::uint32_t y) noexcept { return pixels.data() + std::size_t{y} * width * kRgba; }
};

// Called between parts of long work. False: the work stops.
using GoesOn = std::function<bool()>;

} // namespace sotto::image
