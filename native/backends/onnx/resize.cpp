#include "backends/onnx/resize.hpp"

#include <algorithm>
#include <cmath>

namespace sotto::onnx {
namespace {

constexpr std::size_t kColours = 3;

// Resizes the rows of an image horizontally, and keeps those that the next output row needs.
class WideRows {
public:
    WideRows(const image::Image& image, std::uint32_t width, std::uint32_t rows)
        : image_(image), axis_(image.width, width), width_(width), rows_(rows), numbers_(rows, UINT32_MAX),
          values_(std::size_t{rows} * width * kColours) {}

    // Returns row `y`, interleaved colours from 0 to 255.
    const float* row(std::uint32_t y) {
        const auto place = y % rows_;
        float* to = values_.data() + std::size_t{place} * width_ * kColours;
        if (numbers_[place] != y) {
            numbers_[place] = y;
            fill(image_.row(y), to);
        }
        return to;
    }

private:
    void fill(const std::uint8_t* from, float* to) const noexcept {
        for (std::uint32_t x = 0; x < width_; ++x, to += kColours) {
            const auto taps = axis_.at(x);
            const auto* pixel = from + std::size_t{taps.first} * image::kRgba;
            float red = 0;
            float green = 0;
            float blue = 0;
            for (std::uint32_t k = 0; k < taps.count; ++k, pixel += image::kRgba) {
                red += taps.weights[k] * static_cast<float>(pixel[0]);
                green += taps.weights[k] * static_cast<float>(pixel[1]);
                blue += taps.weights[k] * static_cast<float>(pixel[2]);
            }
            to[0] = red;
            to[1] = green;
            to[2] = blue;
        }
    }

    const image::Image& image_;
    const Axis axis_;
    const std::uint32_t width_;
    const std::uint32_t rows_;
    std::vector<std::uint32_t> numbers_;
    std::vector<float> values_;
};

float largest_value(const image::Image& image) {
    std::uint8_t most = 1; // a black image is not divided by 0
    for (std::size_t i = 0; i < image.pixels.size(); i += image::kRgba) {
        most = std::max({most, image.pixels[i], image.pixels[i + 1], image.pixels[i + 2]});
    }
    return static_cast<float>(most);
}

} // namespace

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

std::vector<float> prepare_image(const image::Image& image, const Recipe& recipe) {
    constexpr float kWhite = 255;
    const auto [height, width] = recipe.size;
    const float divisor = recipe.by_largest ? largest_value(image) : kWhite;
    const Axis vertical(image.height, height);
    WideRows rows(image, width, vertical.max_taps());
    const auto plane = std::size_t{width} * height;
    std::vector<float> prepared(plane * kColours);
    std::vector<float> sums(std::size_t{width} * kColours);
    for (std::uint32_t y = 0; y < height; ++y) {
        std::fill(sums.begin(), sums.end(), 0.0F);
        const auto taps = vertical.at(y);
        for (std::uint32_t k = 0; k < taps.count; ++k) {
            const float* row = rows.row(taps.first + k);
            for (std::size_t i = 0; i < sums.size(); ++i) {
                sums[i] += taps.weights[k] * row[i];
            }
        }
        for (std::size_t colour = 0; colour < kColours; ++colour) {
            const float scale = 1 / (divisor * recipe.std[colour]);
            const float offset = recipe.mean[colour] / recipe.std[colour];
            float* to = prepared.data() + colour * plane + std::size_t{y} * width;
            for (std::uint32_t x = 0; x < width; ++x) {
                to[x] = sums[x * kColours + colour] * scale - offset;
            }
        }
    }
    return prepared;
}

MaskRows::MaskRows(const Mask& mask, std::uint32_t width, std::uint32_t height)
    : width_(width), height_(height), vertical_(mask.height, height),
      wide_(std::size_t{mask.height} * width) {
    const Axis horizontal(mask.width, width);
    for (std::uint32_t y = 0; y < mask.height; ++y) {
        const float* from = mask.values.data() + std::size_t{y} * mask.width;
        float* to = wide_.data() + std::size_t{y} * width;
        for (std::uint32_t x = 0; x < width; ++x) {
            const auto taps = horizontal.at(x);
            float sum = 0;
            for (std::uint32_t k = 0; k < taps.count; ++k) {
                sum += taps.weights[k] * from[taps.first + k];
            }
            to[x] = sum;
        }
    }
}

void MaskRows::write(std::uint32_t y, float* row) const noexcept {
    std::fill(row, row + width_, 0.0F);
    const auto taps = vertical_.at(y);
    for (std::uint32_t k = 0; k < taps.count; ++k) {
        const float* from = wide_.data() + std::size_t{taps.first + k} * width_;
        for (std::uint32_t x = 0; x < width_; ++x) {
            row[x] += taps.weights[k] * from[x];
        }
    }
}

} // namespace sotto::onnx
