// Decodes image and sound files into pixels and samples.
#include "media/media_file.hpp"

#include <algorithm>
#include <base64.hpp>
#include <climits>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <miniaudio/miniaudio.h>
#include <stb/stb_image.h>

namespace sotto::llama {
namespace {

constexpr int kMaxPixels = 1 << 25;
constexpr int kMaxSide = 1 << 14; // models that keep the aspect ratio enlarge the short side
constexpr std::size_t kMaxSeconds = 600;
constexpr std::size_t kShortest = 100; // min duration of a sound: 1/100 s

// `content`: describes the data, such as " of 0 x 0 pixels".
[[noreturn]] void
refuse_file(const std::string& path, const std::string& expected, const std::string& content = "") {
    throw Error(SOTTO_ERROR_ARGUMENT, "invalid " + path + content + ": expected " + expected);
}

// Shortens text from a request for an error message.
std::string beginning(std::string_view text) {
    constexpr std::size_t kShown = 24;
    return text.size() <= kShown ? std::string(text) : std::string(text.substr(0, kShown)) + "...";
}

class Decoder {
public:
    Decoder(const std::string& file, std::uint32_t rate) {
        auto wanted = ma_decoder_config_init(ma_format_f32, 1, rate);
        opened_ = ma_decoder_init_memory(file.data(), file.size(), &wanted, &decoder_) == MA_SUCCESS;
    }
    ~Decoder() {
        if (opened_) {
            ma_decoder_uninit(&decoder_);
        }
    }
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    explicit operator bool() const noexcept { return opened_; }

    // Reads up to `count` samples. Returns their number.
    std::size_t read(float* samples, std::size_t count) {
        ma_uint64 read = 0;
        ma_decoder_read_pcm_frames(&decoder_, samples, count, &read);
        return static_cast<std::size_t>(read);
    }

private:
    ma_decoder decoder_{};
    bool opened_ = false;
};

} // namespace

std::string read_data_url(std::string_view url, const std::string& path) {
    constexpr std::string_view kEncoding = ";base64";
    if (!url.starts_with("data:")) {
        throw invalid_argument(path, beginning(url), "a data URL; Sotto fetches no URLs");
    }
    const auto comma = url.find(',');
    const auto kind = url.substr(0, comma == std::string_view::npos ? 0 : comma);
    if (!kind.ends_with(kEncoding)) {
        throw invalid_argument(path, beginning(url), "a data URL like \"data:image/png;base64,...\"");
    }
    return read_base64(url.substr(comma + 1), path);
}

std::string read_base64(std::string_view text, const std::string& path) {
    std::string bytes;
    try {
        bytes = base64::decode(text.data(), text.size());
    } catch (const base64_error&) {
        throw invalid_argument(path, beginning(text), "base64 data");
    }
    if (bytes.empty()) {
        throw invalid_argument(path, beginning(text), "base64 data of 1 byte or more");
    }
    return bytes;
}

Picture read_picture(const std::string& file, const std::string& path) {
    const auto* data = reinterpret_cast<const stbi_uc*>(file.data());
    const auto bytes = static_cast<int>(std::min<std::size_t>(file.size(), INT_MAX));
    int width = 0;
    int height = 0;
    int channels = 0;
    const auto damaged = [&] {
        const char* reason = stbi_failure_reason();
        refuse_file(
            path,
            std::string("a readable PNG, JPEG, BMP or GIF image (") +
                (reason == nullptr ? "damaged" : reason) + ")"
        );
    };
    if (stbi_info_from_memory(data, bytes, &width, &height, &channels) == 0) {
        damaged();
    }
    const auto rows = std::abs(std::int64_t{height}); // negative in a BMP with top-down rows
    const bool sane = width > 0 && width <= kMaxSide && rows > 0 && rows <= kMaxSide;
    if (!sane || width * rows > kMaxPixels) {
        refuse_file(
            path,
            "sides of 1 to " + std::to_string(kMaxSide) + " pixels, and at most " +
                std::to_string(kMaxPixels) + " pixels in all",
            " of " + std::to_string(width) + " x " + std::to_string(rows) + " pixels"
        );
    }
    constexpr int kColours = 3;
    const std::unique_ptr<stbi_uc, void (*)(void*)> pixels(
        stbi_load_from_memory(data, bytes, &width, &height, &channels, kColours), stbi_image_free
    );
    if (!pixels) {
        damaged();
    }
    Picture picture;
    picture.width = static_cast<std::uint32_t>(width);
    picture.height = static_cast<std::uint32_t>(height);
    picture.pixels.assign(
        pixels.get(), pixels.get() + std::size_t{kColours} * picture.width * picture.height
    );
    return picture;
}

std::vector<float> read_sound(const std::string& file, std::uint32_t rate, const std::string& path) {
    Decoder decoder(file, rate);
    if (!decoder) {
        refuse_file(path, "a readable WAV, MP3 or FLAC sound");
    }
    constexpr std::size_t kBlock = 1 << 16;
    std::vector<float> samples;
    for (auto read = kBlock; read == kBlock;) {
        const auto old = samples.size();
        samples.resize(old + kBlock);
        read = decoder.read(samples.data() + old, kBlock);
        samples.resize(old + read);
        if (samples.size() > kMaxSeconds * rate) {
            refuse_file(path, "a sound of at most " + std::to_string(kMaxSeconds) + " seconds");
        }
    }
    if (samples.size() < rate / kShortest) {
        refuse_file(path, "a sound of at least 0.01 seconds");
    }
    if (!std::all_of(samples.begin(), samples.end(), [](float sample) { return std::isfinite(sample); })) {
        refuse_file(path, "a sound whose samples are finite numbers");
    }
    return samples;
}

} // namespace sotto::llama
