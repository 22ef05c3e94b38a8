// Groups of rows of activations in bfloat16, which the kernels of bf16.cpp and bf16_tiles.cpp multiply.
#pragma once

#include <cstdint>

#include <immintrin.h>

namespace sotto::llama {

constexpr int kLanes = 16;  // rows of a group
constexpr int kVector = 32; // bfloat16 values of a vector

// Up to 16 rows of activations: for each pair of depth, a pair of values of each row.
struct Group {
    std::uint32_t* pairs;
    int rows;
};

inline __mmask16 first(int lanes) {
    return static_cast<__mmask16>((1U << lanes) - 1);
}

// Transposes 16 x 16 values of 32 bits.
inline void transpose(__m512i (&v)[kLanes]) {
    __m512i w[kLanes];
    for (int i = 0; i < kLanes; i += 4) { // 4 x 4 within each 128 bits
        const auto a = _mm512_unpacklo_epi32(v[i], v[i + 1]);
        const auto b = _mm512_unpackhi_epi32(v[i], v[i + 1]);
        const auto c = _mm512_unpacklo_epi32(v[i + 2], v[i + 3]);
        const auto d = _mm512_unpackhi_epi32(v[i + 2], v[i + 3]);
        w[i] = _mm512_unpacklo_epi64(a, c);
        w[i + 1] = _mm512_unpackhi_epi64(a, c);
        w[i + 2] = _mm512_unpacklo_epi64(b, d);
        w[i + 3] = _mm512_unpackhi_epi64(b, d);
    }
    for (int i = 0; i < 4; ++i) { // 4 x 4 of those
        const auto a = _mm512_shuffle_i32x4(w[i], w[i + 4], 0x88);
        const auto b = _mm512_shuffle_i32x4(w[i], w[i + 4], 0xdd);
        const auto c = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0x88);
        const auto d = _mm512_shuffle_i32x4(w[i + 8], w[i + 12], 0xdd);
        v[i] = _mm512_shuffle_i32x4(a, c, 0x88);
        v[i + 8] = _mm512_shuffle_i32x4(a, c, 0xdd);
        v[i + 4] = _mm512_shuffle_i32x4(b, d, 0x88);
        v[i + 12] = _mm512_shuffle_i32x4(b, d, 0xdd);
    }
}

} // namespace sotto::llama
