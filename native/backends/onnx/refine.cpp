#include "backends/onnx/refine.hpp"

#include <algorithm>
#include <cmath>

namespace sotto::onnx {
namespace {

constexpr float kWhite = 255;
constexpr float kCertain = 0.5F / kWhite; // nearer to 0 or 1 than this, alpha is 0 or 1

std::uint8_t byte_of(float value) noexcept {
    return static_cast<std::uint8_t>(std::clamp(value, 0.0F, 1.0F) * kWhite + 0.5F);
}

// Returns the usual width of the mask's edges, in pixels of the mask: the number of pixels that are neither
// foreground nor background by the length of the contour between both.
double edge_width(const Mask& mask) {
    constexpr float kBackground = 0.05F;
    constexpr float kForeground = 0.95F;
    constexpr float kContour = 0.5F;
    std::size_t uncertain = 0;
    std::size_t contour = 1;
    for (std::uint32_t y = 0; y < mask.height; ++y) {
        const float* row = mask.values.data() + std::size_t{y} * mask.width;
        for (std::uint32_t x = 0; x < mask.width; ++x) {
            uncertain += row[x] > kBackground && row[x] < kForeground ? 1 : 0;
            contour += x > 0 && (row[x] > kContour) != (row[x - 1] > kContour) ? 1 : 0;
            contour += y > 0 && (row[x] > kContour) != (*(row + x - mask.width) > kContour) ? 1 : 0;
        }
    }
    return static_cast<double>(uncertain) / static_cast<double>(contour);
}

std::uint32_t radius_of(const Mask& mask, std::uint32_t width) {
    constexpr double kMin = 2;
    constexpr double kMax = 40;
    constexpr double kBlur = 1.5; // pixels of the mask: enlarging it bilinearly
    const double scale = static_cast<double>(width) / mask.width;
    return static_cast<std::uint32_t>(
        std::clamp(std::ceil(std::max(kBlur, edge_width(mask)) * scale), kMin, kMax)
    );
}

} // namespace

void write_alpha(
    const MaskRows& mask, std::uint32_t top, std::uint32_t bottom, std::vector<std::uint8_t>& alpha
) {
    std::vector<float> row(mask.width());
    for (auto y = top; y < bottom; ++y) {
        mask.write(y, row.data());
        std::transform(
            row.begin(),
            row.end(),
            alpha.begin() + static_cast<std::ptrdiff_t>(std::size_t{y} * mask.width()),
            byte_of
        );
    }
}

EdgeRefiner::EdgeRefiner(const image::Image& image, const Mask& mask, const MaskRows& rows)
    : image_(image), mask_(rows), radius_(radius_of(mask, image.width)), row_(image.width) {}

Region EdgeRefiner::uncertain_in(
    const std::vector<float>& rows, std::uint32_t top, std::uint32_t bottom
) const noexcept {
    Region found{image_.width, bottom, 0, top};
    const float* value = rows.data();
    for (auto y = top; y < bottom; ++y) {
        for (std::uint32_t x = 0; x < image_.width; ++x, ++value) {
            if (*value > kCertain && *value < 1 - kCertain) {
                found.left = std::min(found.left, x);
                found.right = std::max(found.right, x + 1);
                found.top = std::min(found.top, y);
                found.bottom = std::max(found.bottom, y + 1);
            }
        }
    }
    return found;
}

void EdgeRefiner::load(const Region& region) {
    for (auto& plane : guide_) {
        plane.resize(region.count());
    }
    input_.resize(region.count());
    std::size_t place = 0;
    for (auto y = region.top; y < region.bottom; ++y) {
        mask_.write(y, row_.data());
        const auto* pixel = image_.row(y) + std::size_t{region.left} * image::kRgba;
        for (auto x = region.left; x < region.right; ++x, ++place, pixel += image::kRgba) {
            input_[place] = row_[x];
            for (std::size_t colour = 0; colour < guide_.size(); ++colour) {
                guide_[colour][place] = static_cast<float>(pixel[colour]) / kWhite;
            }
        }
    }
}

// Writes the weighted terms whose means the filter needs.
void EdgeRefiner::sum_up(std::size_t count) {
    constexpr float kLeast = 1e-3F; // weight of a pixel that is as likely foreground as background
    for (auto* planes : {&means_, &products_}) {
        for (auto& plane : *planes) {
            plane.resize(count);
        }
    }
    for (auto& plane : squares_) {
        plane.resize(count);
    }
    weights_.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
        const float certainty = (2 * input_[i] - 1) * (2 * input_[i] - 1);
        const float weight = certainty * certainty + kLeast;
        std::size_t pair = 0;
        for (std::size_t first = 0; first < guide_.size(); ++first) {
            const float weighted = weight * guide_[first][i];
            means_[first][i] = weighted;
            products_[first][i] = weighted * input_[i];
            for (auto second = first; second < guide_.size(); ++second) {
                squares_[pair++][i] = weighted * guide_[second][i];
            }
        }
        weights_[i] = weight;
        input_[i] *= weight;
    }
}

// Replaces the means of pixel `i` by its linear model, factors and offset, times its weight.
void EdgeRefiner::solve(std::size_t i) noexcept {
    constexpr double kSmoothness = 1e-4; // epsilon: contrast below its root, 0.01, is no edge
    const double weight = weights_[i];
    const double value = input_[i] / weight;
    std::array<double, 3> mean{};
    std::array<double, 3> joint{}; // covariance of guide and input
    std::array<double, 6> cov{};   // of the guide
    for (std::size_t k = 0; k < mean.size(); ++k) {
        mean[k] = means_[k][i] / weight;
        joint[k] = products_[k][i] / weight - mean[k] * value;
    }
    std::size_t pair = 0;
    for (std::size_t first = 0; first < mean.size(); ++first) {
        for (auto second = first; second < mean.size(); ++second, ++pair) {
            cov[pair] = squares_[pair][i] / weight - mean[first] * mean[second];
            cov[pair] += first == second ? kSmoothness : 0;
        }
    }
    const auto& [rr, rg, rb, gg, gb, bb] = cov;
    const std::array<double, 6> adjugate = {
        gg * bb - gb * gb,
        rb * gb - rg * bb,
        rg * gb - rb * gg,
        rr * bb - rb * rb,
        rg * rb - rr * gb,
        rr * gg - rg * rg
    };
    const double determinant = rr * adjugate[0] + rg * adjugate[1] + rb * adjugate[2];
    const auto& [a0, a1, a2, a3, a4, a5] = adjugate;
    const std::array<double, 3> factors = {
        (a0 * joint[0] + a1 * joint[1] + a2 * joint[2]) / determinant,
        (a1 * joint[0] + a3 * joint[1] + a4 * joint[2]) / determinant,
        (a2 * joint[0] + a4 * joint[1] + a5 * joint[2]) / determinant
    };
    double offset = value;
    for (std::size_t k = 0; k < factors.size(); ++k) {
        offset -= factors[k] * mean[k];
        products_[k][i] = static_cast<float>(weight * factors[k]);
    }
    input_[i] = static_cast<float>(weight * offset);
}

// Leaves factors and offset of the linear model of each pixel, averaged over its windows.
void EdgeRefiner::filter(const Region& region) {
    const auto mean = [&](std::vector<float>& plane) {
        box_.apply(plane, region.width(), region.height(), radius_);
    };
    const auto count = region.count();
    sum_up(count);
    for (auto& plane : squares_) {
        mean(plane);
    }
    for (std::size_t k = 0; k < means_.size(); ++k) {
        mean(means_[k]);
        mean(products_[k]);
    }
    mean(weights_);
    mean(input_);
    for (std::size_t i = 0; i < count; ++i) {
        solve(i);
    }
    mean(weights_);
    mean(input_);
    for (auto& plane : products_) {
        mean(plane);
    }
}

void EdgeRefiner::refine(std::uint32_t top, std::uint32_t bottom, std::vector<std::uint8_t>& alpha) {
    const auto width = image_.width;
    std::vector<float> rows(std::size_t{bottom - top} * width);
    for (auto y = top; y < bottom; ++y) {
        mask_.write(y, rows.data() + std::size_t{y - top} * width);
    }
    std::transform(
        rows.begin(),
        rows.end(),
        alpha.begin() + static_cast<std::ptrdiff_t>(std::size_t{top} * width),
        byte_of
    );
    const auto core = uncertain_in(rows, top, bottom);
    if (core.empty()) {
        return;
    }
    const auto region = core.grown(2 * radius_, width, image_.height); // the filter averages twice
    load(region);
    filter(region);
    for (auto y = core.top; y < core.bottom; ++y) {
        for (auto x = core.left; x < core.right; ++x) {
            const float value = rows[std::size_t{y - top} * width + x];
            if (value > kCertain && value < 1 - kCertain) {
                const auto i = std::size_t{y - region.top} * region.width() + (x - region.left);
                float sum = input_[i];
                for (std::size_t colour = 0; colour < guide_.size(); ++colour) {
                    sum += products_[colour][i] * guide_[colour][i];
                }
                alpha[std::size_t{y} * width + x] = byte_of(sum / weights_[i]);
            }
        }
    }
}

} // namespace sotto::onnx
