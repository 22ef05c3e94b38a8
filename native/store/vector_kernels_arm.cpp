// Inner products for 64-bit ARM, all of which have NEON.
#include "store/vector_kernels.hpp"

#if defined(__aarch64__)

#  include <arm_neon.h>

#  include <cstring>

namespace sotto::store::kernels {
namespace {

void f32_neon(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* q = static_cast<const float*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* v = reinterpret_cast<const float*>(vectors[n]);
        float32x4_t sums[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};
        for (std::size_t i = 0; i < dims; i += 16) {
            for (std::size_t lane = 0; lane < 4; ++lane) {
                const auto at = i + 4 * lane;
                sums[lane] = vfmaq_f32(sums[lane], vld1q_f32(v + at), vld1q_f32(q + at));
            }
        }
        products[n] = vaddvq_f32(vaddq_f32(vaddq_f32(sums[0], sums[1]), vaddq_f32(sums[2], sums[3])));
    }
}

void f16_neon(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* q = static_cast<const float*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* v = reinterpret_cast<const std::uint16_t*>(vectors[n]);
        float32x4_t sums[4] = {vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0), vdupq_n_f32(0)};
        for (std::size_t i = 0; i < dims; i += 16) {
            for (std::size_t lane = 0; lane < 4; ++lane) {
                const auto at = i + 4 * lane;
                const auto halves = vreinterpret_f16_u16(vld1_u16(v + at));
                sums[lane] = vfmaq_f32(sums[lane], vcvt_f32_f16(halves), vld1q_f32(q + at));
            }
        }
        products[n] = vaddvq_f32(vaddq_f32(vaddq_f32(sums[0], sums[1]), vaddq_f32(sums[2], sums[3])));
    }
}

void i8_neon(
    const EncodedQuery& query,
    const std::byte* const* vectors,
    std::size_t count,
    std::size_t dims,
    float* products
) {
    const auto* q = static_cast<const std::int16_t*>(query.values);
    for (std::size_t n = 0; n < count; ++n) {
        const auto* v = reinterpret_cast<const std::int8_t*>(vectors[n]);
        int32x4_t low = vdupq_n_s32(0);
        int32x4_t high = vdupq_n_s32(0);
        for (std::size_t i = 0; i < dims; i += 8) {
            const int16x8_t wide = vmovl_s8(vld1_s8(v + i));
            const int16x8_t other = vld1q_s16(q + i);
            low = vmlal_s16(low, vget_low_s16(wide), vget_low_s16(other));
            high = vmlal_s16(high, vget_high_s16(wide), vget_high_s16(other));
        }
        float scale;
        std::memcpy(&scale, vectors[n] + dims, sizeof scale);
        products[n] = static_cast<float>(vaddvq_s32(vaddq_s32(low, high))) * query.scale * scale;
    }
}

} // namespace

InnerProducts of_arm(VectorStorage storage) noexcept {
    switch (storage) {
    case VectorStorage::f16:
        return f16_neon;
    case VectorStorage::i8:
        return i8_neon;
    default:
        return f32_neon;
    }
}

} // namespace sotto::store::kernels

#else

namespace sotto::store::kernels {

InnerProducts of_arm(VectorStorage) noexcept {
    return nullptr;
}

} // namespace sotto::store::kernels

#endif
