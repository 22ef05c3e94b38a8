// Matrix product with the columns of the right operand in SIMD lanes.
#pragma once

#include <cstdint>

#include "lanes.hpp"

namespace sotto::llama {

// A matrix product: to[i][lane] = sum over j of left[i * apart + j * along] * right[j][lane]
struct Product {
    const float* left;
    std::int64_t apart;
    std::int64_t along;
    const float* right;
    float* to;
    int lanes; // row length of `right` and `to`
};

// Computes a block of High rows and Wide * kLanes lanes. The accumulators stay in registers.
template <int High, int Wide>
void multiply_part(const Product& of, std::int64_t depth, bool adds) {
    Floats sums[High][Wide] = {};
    for (std::int64_t j = 0; j < depth; ++j) {
        Floats part[Wide];
        for (int w = 0; w < Wide; ++w) {
            part[w] = load(of.right + j * of.lanes + w * kLanes);
        }
        for (int h = 0; h < High; ++h) {
            const auto one = of.left[h * of.apart + j * of.along];
            for (int w = 0; w < Wide; ++w) {
                sums[h][w] += part[w] * one;
            }
        }
    }
    for (int h = 0; h < High; ++h) {
        for (int w = 0; w < Wide; ++w) {
            auto* place = of.to + h * of.lanes + w * kLanes;
            store(place, adds ? load(place) + sums[h][w] : sums[h][w]);
        }
    }
}

template <int Wide>
void multiply_lanes(Product of, std::int64_t count, std::int64_t depth, bool adds) {
    constexpr int kHigh = 4;
    std::int64_t i = 0;
    for (; i + kHigh <= count; i += kHigh) {
        multiply_part<kHigh, Wide>(of, depth, adds);
        of.left += kHigh * of.apart;
        of.to += kHigh * of.lanes;
    }
    for (; i < count; ++i) {
        multiply_part<1, Wide>(of, depth, adds);
        of.left += of.apart;
        of.to += of.lanes;
    }
}

// Computes `count` rows of `to`. Each element sums `depth`
// products. `adds`: accumulates instead of overwriting.
inline void multiply(Product of, std::int64_t count, std::int64_t depth, bool adds) {
    constexpr int kWide = 2;
    auto left = of.lanes;
    for (; left >= kWide * kLanes; left -= kWide * kLanes) {
        multiply_lanes<kWide>(of, count, depth, adds);
        of.right += kWide * kLanes;
        of.to += kWide * kLanes;
    }
    if (left > 0) {
        multiply_lanes<1>(of, count, depth, adds);
    }
}

} // namespace sotto::llama
