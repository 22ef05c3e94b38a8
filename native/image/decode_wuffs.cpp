// PNG and JPEG, decoded by Wuffs: generated code whose memory safety was proven by its compiler.
#include <memory>
#include <new>
#include <utility>

#include <wuffs-unsupported-snapshot.c>

#include "image/parts.hpp"

namespace sotto::image {
namespace {

using Decoder = wuffs_base__image_decoder::unique_ptr;

Decoder make_decoder(Format format) {
    auto made = format == Format::png ? wuffs_png__decoder::alloc_as__wuffs_base__image_decoder()
                                      : wuffs_jpeg__decoder::alloc_as__wuffs_base__image_decoder();
    if (made == nullptr) {
        throw std::bad_alloc();
    }
    return made;
}

wuffs_base__io_buffer reader_of(std::string_view file) {
    auto* bytes = reinterpret_cast<std::uint8_t*>(const_cast<char*>(file.data())); // only read
    return wuffs_base__ptr_u8__reader(bytes, file.size(), true);
}

void swap_red_and_blue(Image& image) noexcept {
    for (std::size_t i = 0; i < image.pixels.size(); i += kRgba) {
        std::swap(image.pixels[i], image.pixels[i + 2]);
    }
}

} // namespace

std::optional<Header> read_wuffs_header(std::string_view file, Format format) {
    const auto decoder = make_decoder(format);
    auto source = reader_of(file);
    wuffs_base__image_config config{};
    if (!decoder->decode_image_config(&config, &source).is_ok()) {
        return std::nullopt;
    }
    return Header{format, config.pixcfg.width(), config.pixcfg.height()};
}

const char* decode_wuffs(std::string_view file, Format format, Image& image) {
    const auto decoder = make_decoder(format);
    auto source = reader_of(file);
    wuffs_base__image_config config{};
    if (const auto status = decoder->decode_image_config(&config, &source); !status.is_ok()) {
        return status.message();
    }
    // This version of Wuffs swaps red and blue of small JPEG files if it is to write RGBA on a processor with
    // AVX2.
    const bool jpeg = format == Format::jpeg;
    config.pixcfg.set(
        jpeg ? WUFFS_BASE__PIXEL_FORMAT__BGRA_NONPREMUL : WUFFS_BASE__PIXEL_FORMAT__RGBA_NONPREMUL,
        WUFFS_BASE__PIXEL_SUBSAMPLING__NONE,
        image.width,
        image.height
    );
    wuffs_base__pixel_buffer pixels{};
    const auto memory = wuffs_base__make_slice_u8(image.pixels.data(), image.pixels.size());
    if (const auto status = pixels.set_from_slice(&config.pixcfg, memory); !status.is_ok()) {
        return status.message();
    }
    std::vector<std::uint8_t> work(static_cast<std::size_t>(decoder->workbuf_len().max_incl));
    const auto status = decoder->decode_frame(
        &pixels,
        &source,
        WUFFS_BASE__PIXEL_BLEND__SRC,
        wuffs_base__make_slice_u8(work.data(), work.size()),
        nullptr
    );
    if (jpeg) {
        swap_red_and_blue(image);
    }
    return status.is_ok() ? nullptr : status.message();
}

} // namespace sotto::image
