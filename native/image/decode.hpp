// Decodes PNG, JPEG and WebP files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "image/image.hpp"

namespace sotto::image {

enum class Format : std::uint8_t { png, jpeg, webp };

// Properties from an image file's header.
struct Header {
    Format format = Format::png;
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    bool animated = false; // known only of WebP
};

// Reads a header without decoding pixels. `place`: name of the request's field, for error messages. Throws
// Error(SOTTO_ERROR_ARGUMENT) if the file is larger than kMaxFileBytes, has more than `max_pixels` pixels, or
// is no PNG, JPEG or WebP file.
Header read_header(std::string_view file, const std::string& place, std::uint32_t max_pixels = kMaxPixels);

// Decodes a file; of an animation, its first frame. 16-bit channels become 8-bit; palettes, greyscale and
// CMYK become RGB; a JPEG file is turned as its EXIF orientation says. Throws as read_header(), and if the
// file is damaged or truncated.
Image decode(std::string_view file, const std::string& place, std::uint32_t max_pixels = kMaxPixels);

} // namespace sotto::image
