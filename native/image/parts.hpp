// The decoders behind decode(), one for each library.
#pragma once

#include <optional>
#include <string_view>

#include "image/decode.hpp"

namespace sotto::image {

// Wuffs: PNG and JPEG. `nullopt` or a text: the file is damaged.
std::optional<Header> read_wuffs_header(std::string_view file, Format format);
// Decodes into `image`, which has the header's size. Returns null, or a static text: what is wrong with the
// file.
const char* decode_wuffs(std::string_view file, Format format, Image& image);

// libwebp.
std::optional<Header> read_webp_header(std::string_view file);
const char* decode_webp(std::string_view file, const Header& header, Image& image);

// Returns the EXIF orientation of a JPEG file, 1 to 8; 1 if the file has none.
int jpeg_orientation(std::string_view file);
// Turns and mirrors an image so that it needs no orientation any more.
void apply_orientation(Image& image, int orientation);

} // namespace sotto::image
