#include "image/decode.hpp"

#include <optional>

#include "abi/error.hpp"
#include "image/parts.hpp"

namespace sotto::image {
namespace {

constexpr std::string_view kKinds = "a PNG, JPEG or WebP file";

[[noreturn]] void refuse(const std::string& place, const std::string& what, std::string_view expected) {
    throw Error(
        SOTTO_ERROR_ARGUMENT, "invalid " + place + " (" + what + "): expected " + std::string(expected)
    );
}

std::optional<Format> format_of(std::string_view file) {
    constexpr std::size_t kWebpMark = 8; // after "RIFF" and the size
    if (file.starts_with("\x89PNG\r\n\x1a\n")) {
        return Format::png;
    }
    if (file.starts_with("\xff\xd8\xff")) {
        return Format::jpeg;
    }
    if (file.starts_with("RIFF") &&
        file.substr(kWebpMark < file.size() ? kWebpMark : 0).starts_with("WEBP")) {
        return Format::webp;
    }
    return std::nullopt;
}

} // namespace

Header read_header(std::string_view file, const std::string& place, std::uint32_t max_pixels) {
    if (file.size() > kMaxFileBytes) {
        refuse(place, std::to_string(file.size()) + " bytes", "a file of at most 33,554,432 bytes");
    }
    const auto format = format_of(file);
    if (!format) {
        refuse(place, std::to_string(file.size()) + " bytes of another format", kKinds);
    }
    const auto header = *format == Format::webp ? read_webp_header(file) : read_wuffs_header(file, *format);
    if (!header) {
        refuse(place, "its header is damaged", kKinds);
    }
    if (header->width == 0 || header->height == 0 ||
        std::uint64_t{header->width} * header->height > max_pixels) {
        refuse(
            place,
            std::to_string(header->width) + " x " + std::to_string(header->height) + " pixels",
            "1 to " + std::to_string(max_pixels) + " pixels; scale the image down"
        );
    }
    return *header;
}

Image decode(std::string_view file, const std::string& place, std::uint32_t max_pixels) {
    const auto header = read_header(file, place, max_pixels);
    Image image{header.width, header.height, {}};
    image.pixels.resize(image.count() * kRgba);
    const char* wrong = header.format == Format::webp ? decode_webp(file, header, image)
                                                      : decode_wuffs(file, header.format, image);
    if (wrong != nullptr) {
        refuse(place, std::string("damaged or truncated: ") + wrong, kKinds);
    }
    if (header.format == Format::jpeg) {
        apply_orientation(image, jpeg_orientation(file));
    }
    return image;
}

} // namespace sotto::image
