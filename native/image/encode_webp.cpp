// WebP, encoded by libwebp.
#include <memory>
#include <new>
#include <stdexcept>

#include <webp/encode.h>

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
    if (pixels.channels == kRgba) {
        return WebPPictureImportRGBA(&picture, pixels.data, static_cast<int>(pixels.width * kRgba)) != 0;
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

} // namespace

std::optional<std::string> encode_webp(const Pixels& pixels, int quality, const GoesOn& goes_on) {
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
    return picture.file();
}

} // namespace sotto::image
