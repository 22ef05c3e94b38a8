// WebP, decoded by libwebp.
#include <memory>
#include <new>

#include <webp/decode.h>
#include <webp/demux.h>

#include "image/parts.hpp"

namespace sotto::image {
namespace {

const std::uint8_t* bytes_of(std::string_view file) {
    return reinterpret_cast<const std::uint8_t*>(file.data());
}

const char* decode_first_frame(std::string_view file, Image& image) {
    struct Delete {
        void operator()(WebPAnimDecoder* decoder) const noexcept { WebPAnimDecoderDelete(decoder); }
    };
    WebPAnimDecoderOptions options;
    if (WebPAnimDecoderOptionsInit(&options) == 0) {
        return "libwebp has another version";
    }
    options.color_mode = MODE_RGBA;
    const WebPData data{bytes_of(file), file.size()};
    const std::unique_ptr<WebPAnimDecoder, Delete> decoder(WebPAnimDecoderNew(&data, &options));
    if (decoder == nullptr) {
        return "its animation cannot be read";
    }
    WebPAnimInfo info;
    std::uint8_t* frame = nullptr; // owned by the decoder
    int time = 0;
    if (WebPAnimDecoderGetInfo(decoder.get(), &info) == 0 || info.canvas_width != image.width ||
        info.canvas_height != image.height || WebPAnimDecoderGetNext(decoder.get(), &frame, &time) == 0) {
        return "its first frame cannot be read";
    }
    image.pixels.assign(frame, frame + image.pixels.size());
    return nullptr;
}

} // namespace

std::optional<Header> read_webp_header(std::string_view file) {
    WebPBitstreamFeatures features;
    if (WebPGetFeatures(bytes_of(file), file.size(), &features) != VP8_STATUS_OK || features.width <= 0 ||
        features.height <= 0) {
        return std::nullopt;
    }
    return Header{
        Format::webp,
        static_cast<std::uint32_t>(features.width),
        static_cast<std::uint32_t>(features.height),
        features.has_animation != 0
    };
}

const char* decode_webp(std::string_view file, const Header& header, Image& image) {
    if (header.animated) {
        return decode_first_frame(file, image);
    }
    const auto* decoded = WebPDecodeRGBAInto(
        bytes_of(file),
        file.size(),
        image.pixels.data(),
        image.pixels.size(),
        static_cast<int>(image.width * kRgba)
    );
    return decoded == nullptr ? "its pixels cannot be read" : nullptr;
}

} // namespace sotto::image
