// Vectors of eight floats.
#pragma once

#include <cstdint>

#include <ggml-cpu/ggml-cpu-impl.h>
#include <ggml-cpu/simd-mappings.h>
#include <ggml.h>

#if defined __F16C__
#  include <immintrin.h>
#endif

#include "attention.hpp"

namespace sotto::llama {

constexpr int kLanes = sotto::llama::kAttentionLanes;
typedef float Floats __attribute__((vector_size(kLanes * sizeof(float))));
typedef std::int32_t Ints __attribute__((vector_size(kLanes * sizeof(float))));
typedef float InMemory
    __attribute__((vector_size(kLanes * sizeof(float)), aligned(alignof(float)), may_alias));

inline Floats load(const float* from) {
    return *reinterpret_cast<const InMemory*>(from);
}

inline void store(float* to, Floats value) {
    *reinterpret_cast<InMemory*>(to) = value;
}

inline Floats load(const ggml_fp16_t* from) {
#if defined __F16C__
    return (Floats)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
    Floats values;
    for (int i = 0; i < kLanes; ++i) {
        values[i] = GGML_CPU_FP16_TO_FP32(from[i]);
    }
    return values;
#endif
}

// Prefetches `count` elements. K and V rows of one head are one full token width apart, a stride
// that the hardware prefetcher does not follow.
inline void prefetch(const ggml_fp16_t* from, std::int64_t count) {
    constexpr std::int64_t kLine = 32; // f16 elements per cache line
    for (std::int64_t i = 0; i < count; i += kLine) {
        __builtin_prefetch(from + i);
    }
}

inline Floats all(float value) {
    return Floats{} + value;
}

inline Floats select(Ints which, Floats yes, Floats no) {
    return (Floats)((which & (Ints)yes) | (~which & (Ints)no));
}

inline Floats max_of(Floats a, Floats b) {
    return select(a > b, a, b);
}

// e^x, with the coefficients of Cephes' expf (Moshier).
// Returns 0 below -87, where the result is denormal.
inline Floats exponential(Floats x) {
    constexpr float kMin = -87;
    constexpr float kMax = 88;
    constexpr float kLog2E = 1.44269504F;
    constexpr float kLn2High = 0.693359375F;
    constexpr float kLn2Low = -2.12194440e-4F;
    constexpr float kRound = 12582912; // 1.5 * 2^23: adding it rounds to an integer
    constexpr int kBias = 127;
    constexpr int kMantissa = 23;
    const auto tiny = x < all(kMin);
    x = select(tiny, all(kMin), x);
    x = select(x > all(kMax), all(kMax), x);
    const auto shifted = x * kLog2E + kRound;
    const auto power = shifted - kRound;
    const auto exponent = (Ints)shifted - (Ints)all(kRound);
    const auto rest = x - power * kLn2High - power * kLn2Low;
    auto sum = all(1.9875691500e-4F);
    sum = sum * rest + 1.3981999507e-3F;
    sum = sum * rest + 8.3334519073e-3F;
    sum = sum * rest + 4.1665795894e-2F;
    sum = sum * rest + 1.6666665459e-1F;
    sum = sum * rest + 5.0000001201e-1F;
    sum = sum * rest * rest + rest + 1;
    return select(tiny, Floats{}, sum * (Floats)((exponent + kBias) << kMantissa));
}

inline float total(Floats values) {
    float sum = 0;
    for (int i = 0; i < kLanes; ++i) {
        sum += values[i];
    }
    return sum;
}

} // namespace sotto::llama
