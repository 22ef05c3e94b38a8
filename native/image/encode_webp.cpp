// WebP, encoded by libwebp.
#include <memory>
#include <new>
#include <stdexcept>

#include <webp/encode.h>
#include <webp/mux.h>

#include "abi/error.hpp"
#include "image/encode.hpp"

namespace sotto::image {
namespace {

class Picture {
public:
    explicit Picture(const Pixels& pixels) {
        if (WebPPictureInit(&picture_) == 0) {
            throw std::logic_error("libwebp has another version");
        }
        WebPMemoryWriterInit(&writer_);
        picture_.use_argb = 1;
        picture_.width = static_cast<int>(pixels.width);
        picture_.height = static_cast<int>(pixels.height);
        picture_.writer = WebPMemoryWrite;
        picture_.custom_ptr = &writer_;
    }
    ~Picture() {
        WebPPictureFree(&picture_);
        WebPMemoryWriterClear(&writer_);
    }
    Picture(const Picture&) = delete;
    Picture& operator=(const Picture&) = delete;

    WebPPicture& get() noexcept { return picture_; }
    std::string file() const { return {reinterpret_cast<const char*>(writer_.mem), writer_.size}; }

private:
    WebPPicture picture_{};
    WebPMemoryWriter writer_{};
};

WebPConfig config_of(int quality) {
    constexpr int kLosslessLevel = 1; // 0 to 9: a higher level takes several times as long for a few percent
    constexpr int kMethod = 3;        // 0 to 6
    constexpr int kLossless = 100;
    WebPConfig config;
    if (WebPConfigInit(&config) == 0) {
        throw std::logic_error("libwebp has another version");
    }
    config.quality = static_cast<float>(quality);
    config.method = kMethod;
    if (quality == kLossless && WebPConfigLosslessPreset(&config, kLosslessLevel) == 0) {
        throw std::logic_error("libwebp refused its own settings");
    }
    config.exact = 1; // keeps the colours of transparent pixels
    return config;
}

bool import_pixels(WebPPicture& picture, const Pixels& pixels) {
    const auto stride = static_cast<int>(pixels.width * pixels.channels);
    if (pixels.channels == kRgba) {
        return WebPPictureImportRGBA(&picture, pixels.data, stride) != 0;
    }
    if (pixels.channels == kRgb) {
        return WebPPictureImportRGB(&picture, pixels.data, stride) != 0;
    }
    if (WebPPictureAlloc(&picture) == 0) {
        return false;
    }
    constexpr std::uint32_t kOpaque = 0xff000000;
    for (std::uint32_t y = 0; y < pixels.height; ++y) {
        for (std::uint32_t x = 0; x < pixels.width; ++x) {
            const std::uint32_t grey = pixels.data[std::size_t{y} * pixels.width + x];
            picture.argb[std::size_t{y} * static_cast<std::size_t>(picture.argb_stride) + x] =
                kOpaque | grey << 16 | grey << 8 | grey;
        }
    }
    return true;
}

std::string escaped(const std::string& text) {
    std::string made;
    for (const char letter : text) {
        switch (letter) {
        case '&':
            made += "&amp;";
            break;
        case '<':
            made += "&lt;";
            break;
        case '"':
            made += "&quot;";
            break;
        default: // XML has no other control characters
            made += letter >= 0 && letter < ' ' && letter != '\t' && letter != '\n' ? ' ' : letter;
        }
    }
    return made;
}

std::string xmp_of(const Metadata& metadata) {
    std::string packet(
        R"(<x:xmpmeta xmlns:x="adobe:ns:meta/">)"
        R"(<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">)"
        R"(<rdf:Description xmlns:sotto="urn:sotto:image")"
    );
    for (const auto& [name, text] : metadata) {
        packet.append(" sotto:").append(name).append("=\"").append(escaped(text)).append("\"");
    }
    return packet.append("/></rdf:RDF></x:xmpmeta>");
}

WebPData view(const std::string& bytes) {
    return {reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()};
}

std::string with_metadata(const std::string& file, const Metadata& metadata) {
    const auto packet = xmp_of(metadata);
    const auto image = view(file);
    const auto xmp = view(packet);
    const std::unique_ptr<WebPMux, decltype(&WebPMuxDelete)> mux(WebPMuxNew(), WebPMuxDelete);
    WebPData made{};
    if (mux == nullptr || WebPMuxSetImage(mux.get(), &image, 0) != WEBP_MUX_OK ||
        WebPMuxSetChunk(mux.get(), "XMP ", &xmp, 0) != WEBP_MUX_OK ||
        WebPMuxAssemble(mux.get(), &made) != WEBP_MUX_OK) {
        throw std::bad_alloc(); // libwebp made the file itself
    }
    std::string text(reinterpret_cast<const char*>(made.bytes), made.size);
    WebPDataClear(&made);
    return text;
}

} // namespace

std::optional<std::string>
encode_webp(const Pixels& pixels, int quality, const GoesOn& goes_on, const Metadata& metadata) {
    if (pixels.width > WEBP_MAX_DIMENSION || pixels.height > WEBP_MAX_DIMENSION) {
        throw invalid_argument(
            "output_format", "webp", "\"png\": WebP has no sides longer than 16,383 pixels"
        );
    }
    const auto config = config_of(quality);
    Picture picture(pixels);
    picture.get().user_data = const_cast<GoesOn*>(&goes_on); // only called
    picture.get().progress_hook = [](int, const WebPPicture* at) {
        return (*static_cast<const GoesOn*>(at->user_data))() ? 1 : 0;
    };
    if (!import_pixels(picture.get(), pixels)) {
        throw std::bad_alloc();
    }
    if (WebPEncode(&config, &picture.get()) == 0) {
        const auto error = picture.get().error_code;
        if (error == VP8_ENC_ERROR_USER_ABORT) {
            return std::nullopt;
        }
        if (error == VP8_ENC_ERROR_OUT_OF_MEMORY || error == VP8_ENC_ERROR_BITSTREAM_OUT_OF_MEMORY) {
            throw std::bad_alloc();
        }
        throw std::runtime_error("libwebp failed with error " + std::to_string(error));
    }
    auto file = picture.file();
    return metadata.empty() ? std::move(file) : with_metadata(file, metadata);
}

} // namespace sotto::image
