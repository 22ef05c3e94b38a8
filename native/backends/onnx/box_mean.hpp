// Means over square windows.
#pragma once

#include <cstdint>
#include <vector>

namespace sotto::onnx {

// A rectangle of pixels of an image: [left, right) x [top, bottom).
struct Region {
    std::uint32_t left = 0;
    std::uint32_t top = 0;
    std::uint32_t right = 0;
    std::uint32_t bottom = 0;

    std::uint32_t width() const noexcept { return right - left; }
    std::uint32_t height() const noexcept { return bottom - top; }
    std::size_t count() const noexcept { return std::size_t{width()} * height(); }
    bool empty() const noexcept { return left >= right || top >= bottom; }
    // Returns the region with `margin` more pixels on each side, within an image.
    Region grown(std::uint32_t margin, std::uint32_t image_width, std::uint32_t image_height) const noexcept;
};

// Replaces each value of a plane by the mean over the window of `radius` around it, cut off at the plane's
// border. Running sums: the time does not depend on the radius. Reuses its buffers.
class BoxMean {
public:
    void apply(std::vector<float>& plane, std::uint32_t width, std::uint32_t height, std::uint32_t radius);

private:
    std::vector<float> rows_;
    std::vector<double> columns_;
};

} // namespace sotto::onnx
