#include "image/resize.hpp"

#include <algorithm>
#include <cmath>

namespace sotto::image {

Axis::Axis(std::uint32_t from, std::uint32_t to) {
    const double scale = static_cast<double>(from) / to;
    const double support = std::max(scale, 1.0);
    width_ = static_cast<std::uint32_t>(std::ceil(support)) * 2 + 1;
    firsts_.resize(to);
    counts_.resize(to);
    weights_.resize(std::size_t{to} * width_);
    for (std::uint32_t i = 0; i < to; ++i) {
        const double center = (i + 0.5) * scale;
        const auto first = static_cast<std::uint32_t>(std::max(center - support + 0.5, 0.0));
        const auto end = std::min(static_cast<std::uint32_t>(center + support + 0.5), from);
        auto* weights = weights_.data() + std::size_t{i} * width_;
        double sum = 0;
        for (auto k = first; k < end; ++k) {
            const double weight = std::max(1 - std::abs((k - center + 0.5) / support), 0.0);
            weights[k - first] = static_cast<float>(weight);
            sum += weight;
        }
        for (auto k = first; k < end; ++k) {
            weights[k - first] = static_cast<float>(weights[k - first] / sum);
        }
        firsts_[i] = first;
        counts_[i] = end - first;
    }
}

ResizedRows::ResizedRows(const Image& image, std::uint32_t width, std::uint32_t height)
    : image_(image), horizontal_(image.width, width), vertical_(image.height, height), width_(width),
      kept_(vertical_.max_taps(), UINT32_MAX), wide_(kept_.size() * width * kRgb),
      sums_(std::size_t{width} * kRgb) {}

const std::vector<float>& ResizedRows::row(std::uint32_t y) {
    std::fill(sums_.begin(), sums_.end(), 0.0F);
    const auto taps = vertical_.at(y);
    for (std::uint32_t k = 0; k < taps.count; ++k) {
        const float* row = wide_row(taps.first + k);
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            sums_[i] += taps.weights[k] * row[i];
        }
    }
    return sums_;
}

const float* ResizedRows::wide_row(std::uint32_t y) {
    const auto place = y % kept_.size();
    float* to = wide_.data() + place * width_ * kRgb;
    if (kept_[place] != y) {
        kept_[place] = y;
        widen(image_.row(y), to);
    }
    return to;
}

void ResizedRows::widen(const std::uint8_t* from, float* to) const noexcept {
    for (std::uint32_t x = 0; x < width_; ++x, to += kRgb) {
        const auto taps = horizontal_.at(x);
        const auto* pixel = from + std::size_t{taps.first} * kRgba;
        float red = 0;
        float green = 0;
        float blue = 0;
        for (std::uint32_t k = 0; k < taps.count; ++k, pixel += kRgba) {
            red += taps.weights[k] * static_cast<float>(pixel[0]);
            green += taps.weights[k] * static_cast<float>(pixel[1]);
            blue += taps.weights[k] * static_cast<float>(pixel[2]);
        }
        to[0] = red;
        to[1] = green;
        to[2] = blue;
    }
}

Image resize(const Image& image, std::uint32_t width, std::uint32_t height) {
    constexpr float kWhite = 255;
    Image made{width, height, std::vector<std::uint8_t>(std::size_t{width} * height * kRgba)};
    ResizedRows rows(image, width, height);
    for (std::uint32_t y = 0; y < height; ++y) {
        const auto& row = rows.row(y);
        auto* to = made.row(y);
        for (std::uint32_t x = 0; x < width; ++x, to += kRgba) {
            for (std::uint32_t colour = 0; colour < kRgb; ++colour) {
                const float value = std::clamp(row[std::size_t{x} * kRgb + colour], 0.0F, kWhite);
                to[colour] = static_cast<std::uint8_t>(std::lround(value));
            }
            to[kRgb] = static_cast<std::uint8_t>(kWhite);
        }
    }
    return made;
}

Image resize_nearest(const Image& image, std::uint32_t width, std::uint32_t height) {
    Image made{width, height, std::vector<std::uint8_t>(std::size_t{width} * height * kRgba)};
    const auto nearest = [](std::uint32_t at, std::uint32_t from, std::uint32_t to) {
        return static_cast<std::uint32_t>((std::uint64_t{at} * 2 + 1) * from / (std::uint64_t{to} * 2));
    };
    for (std::uint32_t y = 0; y < height; ++y) {
        const auto* from = image.row(nearest(y, image.height, height));
        auto* to = made.row(y);
        for (std::uint32_t x = 0; x < width; ++x, to += kRgba) {
            std::copy_n(from + std::size_t{nearest(x, image.width, width)} * kRgba, kRgba, to);
        }
    }
    return made;
}

} // namespace sotto::image
