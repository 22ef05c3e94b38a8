// EXIF orientation of JPEG files: EXIF 2.32, tag 0x0112.
#include <utility>

#include "image/parts.hpp"

namespace sotto::image {
namespace {

// Reads integers of a TIFF structure. Out of range: 0.
class Tiff {
public:
    Tiff(std::string_view bytes, bool little) : bytes_(bytes), little_(little) {}

    std::uint32_t u16(std::size_t at) const noexcept {
        return little_ ? at8(at) | at8(at + 1) << 8 : at8(at) << 8 | at8(at + 1);
    }
    std::uint32_t u32(std::size_t at) const noexcept {
        return little_ ? u16(at) | u16(at + 2) << 16 : u16(at) << 16 | u16(at + 2);
    }

private:
    std::uint32_t at8(std::size_t at) const noexcept {
        return at < bytes_.size() ? static_cast<std::uint8_t>(bytes_[at]) : 0;
    }

    std::string_view bytes_;
    bool little_;
};

int orientation_in(std::string_view tiff) {
    constexpr std::size_t kEntry = 12; // bytes of a directory entry
    constexpr std::uint32_t kTag = 0x0112;
    constexpr std::uint32_t kMaxEntries = 512;
    const bool little = tiff.starts_with("II");
    if (!little && !tiff.starts_with("MM")) {
        return 1;
    }
    const Tiff reader(tiff, little);
    const std::size_t directory = reader.u32(4);
    const auto entries = reader.u16(directory);
    for (std::uint32_t i = 0; i < entries && i < kMaxEntries; ++i) {
        const auto entry = directory + 2 + i * kEntry;
        if (reader.u16(entry) == kTag) {
            const auto value = reader.u16(entry + 8);
            return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
        }
    }
    return 1;
}

} // namespace

int jpeg_orientation(std::string_view file) {
    constexpr std::string_view kExif("Exif\0\0", 6);
    const Tiff reader(file, false);
    std::size_t at = 2; // after the mark of a JPEG file
    while (at + 4 <= file.size() && reader.u16(at) >= 0xffe0 && reader.u16(at) <= 0xfffe) {
        const auto length = reader.u16(at + 2); // includes itself
        const auto segment = file.substr(at + 4, length < 2 ? 0 : length - 2);
        if (reader.u16(at) == 0xffe1 && segment.starts_with(kExif)) {
            return orientation_in(segment.substr(kExif.size()));
        }
        at += 2 + std::size_t{length < 2 ? 2 : length};
    }
    return 1;
}

void apply_orientation(Image& image, int orientation) {
    if (orientation <= 1 || orientation > 8) {
        return;
    }
    const bool transposed = orientation >= 5;
    Image turned{image.width, image.height, {}};
    if (transposed) {
        std::swap(turned.width, turned.height);
    }
    turned.pixels.resize(image.pixels.size());
    // of the stored image: which of its sides the shown image's right and lower sides are
    const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
    const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
    for (std::uint32_t y = 0; y < turned.height; ++y) {
        auto* to = turned.row(y);
        for (std::uint32_t x = 0; x < turned.width; ++x, to += kRgba) {
            const auto column = transposed ? y : x;
            const auto line = transposed ? x : y;
            const auto* from = image.row(from_bottom ? image.height - 1 - line : line) +
                               std::size_t{from_right ? image.width - 1 - column : column} * kRgba;
            for (std::uint32_t channel = 0; channel < kRgba; ++channel) {
                to[channel] = from[channel];
            }
        }
    }
    image = std::move(turned);
}

} // namespace sotto::image
