#include "backends/onnx/cutout.hpp"

#include <algorithm>
#include <utility>

namespace sotto::onnx {
namespace {

constexpr std::size_t kAlphaByte = 3; // of a pixel

} // namespace

Cutout::Cutout(MatteRequest request) : request_(std::move(request)) {
    constexpr std::uint32_t kBandPixels = 1 << 18;
    constexpr std::uint32_t kMinRows = 64; // so that a band is not mostly its margins
    band_rows_ = std::max(kBandPixels / request_.image.width, kMinRows);
    bands_ = (request_.image.height + band_rows_ - 1) / band_rows_;
}

void Cutout::set_mask(const Mask& mask) {
    const auto& image = request_.image;
    alpha_.resize(image.count());
    rows_ = std::make_unique<MaskRows>(mask, image.width, image.height);
    refiner_ = std::make_unique<EdgeRefiner>(image, mask, *rows_);
    foreground_ = std::make_unique<Foreground>(image, alpha_);
}

void Cutout::compute_band(std::uint32_t number) {
    const auto top = number % bands_ * band_rows_;
    const auto bottom = std::min(top + band_rows_, request_.image.height);
    if (number < bands_) {
        compute_alpha(top, bottom);
        return;
    }
    if (number == bands_) {
        foreground_->blend();
        result_ = {request_.image.width, request_.image.height, {}};
        result_.pixels.resize(request_.image.pixels.size());
    }
    foreground_->write(top, bottom, result_);
}

void Cutout::compute_alpha(std::uint32_t top, std::uint32_t bottom) {
    if (request_.refine_edges) {
        refiner_->refine(top, bottom, alpha_);
    } else {
        write_alpha(*rows_, top, bottom, alpha_);
    }
    keep_old_alpha(top, bottom);
    if (estimates_colours()) {
        foreground_->add(top, bottom);
    }
}

// What was transparent stays so.
void Cutout::keep_old_alpha(std::uint32_t top, std::uint32_t bottom) noexcept {
    const auto width = std::size_t{request_.image.width};
    for (auto i = top * width; i < bottom * width; ++i) {
        alpha_[i] = std::min(alpha_[i], request_.image.pixels[i * image::kRgba + kAlphaByte]);
    }
}

image::Pixels Cutout::pixels() {
    if (estimates_colours()) { // the encoder needs the room
        foreground_.reset();
        refiner_.reset();
        rows_.reset();
        std::vector<std::uint8_t>().swap(request_.image.pixels);
    }
    auto& image = estimates_colours() ? result_ : request_.image;
    if (request_.mask_only) {
        return {alpha_.data(), request_.image.width, request_.image.height, 1};
    }
    for (std::size_t i = 0; i < alpha_.size(); ++i) {
        image.pixels[i * image::kRgba + kAlphaByte] = alpha_[i];
    }
    return {image.pixels.data(), image.width, image.height, image::kRgba};
}

void Cutout::drop_pixels() noexcept {
    for (auto* pixels : {&request_.image.pixels, &result_.pixels, &alpha_}) {
        std::vector<std::uint8_t>().swap(*pixels);
    }
}

} // namespace sotto::onnx
