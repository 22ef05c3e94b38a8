#include "backends/onnx/box_mean.hpp"

#include <algorithm>

namespace sotto::onnx {

Region
Region::grown(std::uint32_t margin, std::uint32_t image_width, std::uint32_t image_height) const noexcept {
    return {
        left - std::min(left, margin),
        top - std::min(top, margin),
        std::min(right + margin, image_width),
        std::min(bottom + margin, image_height)
    };
}

void BoxMean::apply(
    std::vector<float>& plane, std::uint32_t width, std::uint32_t height, std::uint32_t radius
) {
    rows_.resize(plane.size());
    for (std::uint32_t y = 0; y < height; ++y) {
        const float* from = plane.data() + std::size_t{y} * width;
        float* to = rows_.data() + std::size_t{y} * width;
        double sum = 0;
        for (std::uint32_t x = 0; x < std::min(radius, width); ++x) {
            sum += from[x];
        }
        for (std::uint32_t x = 0; x < width; ++x) {
            sum += x + radius < width ? from[x + radius] : 0;
            const auto count = std::min(x + radius + 1, width) - (x - std::min(x, radius));
            to[x] = static_cast<float>(sum / count);
            sum -= x >= radius ? from[x - radius] : 0;
        }
    }
    columns_.assign(width, 0);
    const auto add = [&](std::uint32_t y, double sign) {
        const float* from = rows_.data() + std::size_t{y} * width;
        for (std::uint32_t x = 0; x < width; ++x) {
            columns_[x] += sign * from[x];
        }
    };
    for (std::uint32_t y = 0; y < std::min(radius, height); ++y) {
        add(y, 1);
    }
    for (std::uint32_t y = 0; y < height; ++y) {
        if (y + radius < height) {
            add(y + radius, 1);
        }
        const double share = 1.0 / (std::min(y + radius + 1, height) - (y - std::min(y, radius)));
        float* to = plane.data() + std::size_t{y} * width;
        for (std::uint32_t x = 0; x < width; ++x) {
            to[x] = static_cast<float>(columns_[x] * share);
        }
        if (y >= radius) {
            add(y - radius, -1);
        }
    }
}

} // namespace sotto::onnx
