// Fuzzes the decoders of image files: each input is decoded or refused.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "abi/error.hpp"
#include "image/decode.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace sotto;
    constexpr std::uint32_t kPixels = 1 << 18;
    const std::string_view file(reinterpret_cast<const char*>(data), size);
    try {
        const auto header = image::read_header(file, "image", kPixels);
        const auto image = image::decode(file, "image", kPixels);
        if (image.pixels.size() != image.count() * image::kRgba || image.count() > kPixels ||
            image.count() != std::size_t{header.width} * header.height) {
            std::abort();
        }
    } catch (const Error&) { // only this type may be thrown
    }
    return 0;
}
