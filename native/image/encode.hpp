// Encodes PNG and WebP files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "image/image.hpp"

namespace sotto::image {

// Pixels to encode: rows from top to bottom without padding.
struct Pixels {
    const std::uint8_t* data = nullptr;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint32_t channels = kRgba; // 4: RGBA, not premultiplied; 1: greyscale
};

// Returns the file; nullopt if `goes_on` stopped the work.
std::optional<std::string> encode_png(const Pixels& pixels, const GoesOn& goes_on);

// As encode_png(). `quality`: 0 to 100; 100: lossless. Throws Error(SOTTO_ERROR_ARGUMENT) for sides longer
// than 16,383 pixels, which WebP does not have.
std::optional<std::string> encode_webp(const Pixels& pixels, int quality, const GoesOn& goes_on);

} // namespace sotto::image
