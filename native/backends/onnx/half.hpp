// Half precision numbers (IEEE 754 binary16).
#pragma once

#include <bit>
#include <cstdint>

namespace sotto::onnx {

// Rounds to the nearest half, ties to even.
inline std::uint16_t half_of(float value) noexcept {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000U);
    const auto magnitude = bits & 0x7fffffffU;
    if (magnitude >= 0x47800000U) { // 65,536 and above, and NaN
        return static_cast<std::uint16_t>(sign | (magnitude > 0x7f800000U ? 0x7e00U : 0x7c00U));
    }
    if (magnitude < 0x38800000U) { // subnormal: adding 0.5 leaves the half's bits at the end
        const auto shifted = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F);
        return static_cast<std::uint16_t>(sign | (shifted - 0x3f000000U));
    }
    const auto odd = magnitude >> 13 & 1U;
    return static_cast<std::uint16_t>(sign | ((magnitude + 0xc8000fffU + odd) >> 13));
}

inline float float_of(std::uint16_t half) noexcept {
    const auto sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
    const auto exponent = half >> 10 & 0x1fU;
    const auto fraction = static_cast<std::uint32_t>(half & 0x3ffU);
    if (exponent == 0x1f) {
        return std::bit_cast<float>(sign | 0x7f800000U | fraction << 13);
    }
    if (exponent == 0) {
        constexpr float kUnit = 1.0F / (1 << 24);
        const float value = static_cast<float>(fraction) * kUnit;
        return sign != 0 ? -value : value;
    }
    return std::bit_cast<float>(sign | (exponent + 112U) << 23 | fraction << 13);
}

} // namespace sotto::onnx
