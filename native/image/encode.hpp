// Encodes PNG and WebP files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "image/image.hpp"

namespace sotto::image {

// Pixels to encode: rows from top to bottom without padding.
struct Pixels {
    const std::uint8_t* data = nullptr;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::uint32_t channels = kRgba; // 4: RGBA, not premultiplied; 3: RGB; 1: greyscale
};

// Names and texts in UTF-8 that a file says of itself.
using Metadata = std::vector<std::pair<std::string, std::string>>;

// Returns the file, with an iTXt chunk for each text; nullopt if `goes_on` stopped the work.
std::optional<std::string>
encode_png(const Pixels& pixels, const GoesOn& goes_on, const Metadata& metadata = {});

// As encode_png(), with an XMP packet whose attributes have the namespace "urn:sotto:image". `quality`: 0 to
// 100; 100: lossless. Throws Error(SOTTO_ERROR_ARGUMENT) for sides longer
// than 16,383 pixels, which WebP does not have.
std::optional<std::string>
encode_webp(const Pixels& pixels, int quality, const GoesOn& goes_on, const Metadata& metadata = {});

} // namespace sotto::image
