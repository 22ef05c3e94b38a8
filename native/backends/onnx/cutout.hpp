// An image without its background, computed from a mask in bands of rows.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/onnx/foreground.hpp"
#include "backends/onnx/refine.hpp"
#include "backends/onnx/request.hpp"
#include "backends/onnx/resize.hpp"
#include "image/encode.hpp"

namespace sotto::onnx {

class Cutout {
public:
    explicit Cutout(MatteRequest request);

    const MatteRequest& request() const noexcept { return request_; }
    // Number of bands to compute: once for alpha, and with refined edges once for colours.
    std::uint32_t bands() const noexcept { return bands_ * (estimates_colours() ? 2 : 1); }

    // Sets the model's mask, before the first band.
    void set_mask(const Mask& mask);
    // Computes band `number` in about 20 ms. In order, each once.
    void compute_band(std::uint32_t number);
    // Returns the result, after all bands: RGBA, or alpha as greyscale. Valid until drop_pixels().
    image::Pixels pixels();

    // Frees all pixels; nothing but request() is called afterwards.
    void drop_pixels() noexcept;

    // Bytes that a request takes for each pixel of its image, at most, as measured: 14 while it is computed
    // or encoded as PNG; 28 in the encoder of WebP.
    static constexpr std::uint64_t kBytesPerPixel = 28;
    // Bytes of a band's planes that a small image takes in addition.
    static constexpr std::uint64_t kBandBytes = std::uint64_t{16} << 20;

private:
    void compute_alpha(std::uint32_t top, std::uint32_t bottom);
    void keep_old_alpha(std::uint32_t top, std::uint32_t bottom) noexcept;
    bool estimates_colours() const noexcept { return request_.refine_edges && !request_.mask_only; }

    MatteRequest request_;
    std::uint32_t band_rows_ = 0;
    std::uint32_t bands_ = 0;
    std::unique_ptr<MaskRows> rows_;
    std::unique_ptr<EdgeRefiner> refiner_;
    std::unique_ptr<Foreground> foreground_;
    std::vector<std::uint8_t> alpha_;
    image::Image result_; // if colours are estimated; else the request's image
};

} // namespace sotto::onnx
