// Products of 4-bit weights and 8-bit activations.
#pragma once

#include <cstdint>
#include <cstring>

#include <immintrin.h>

namespace sotto::llama {

constexpr int kColumns = 8;     // columns of a group, one in each 32-bit lane
constexpr int kDepth = 32;      // weights of a column in a block, which share a scale
constexpr int kInterleaved = 4; // rows of activations
constexpr int kChunk = 8;       // interleaved bytes of a column, or of a row

// A block's unsigned weights. at[i] holds depths 4 * i to 4 * i + 3 of each column, with columns in the order
// 0, 1, 4, 5, 2, 3, 6, 7.
struct Weights {
    __m256i at[kDepth / 4];
};

// Permutation to the column order of Weights; applied twice, it restores the original order.
inline __m256i column_order() {
    return _mm256_setr_epi32(0, 1, 4, 5, 2, 3, 6, 7);
}

inline __m256i load_bytes(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

// Gathers bytes 0 to 3 (kHalf 0) or 4 to 7 (kHalf 1) of each column's chunk. first: columns 0 to 3.
template <int kHalf>
inline __m256i gather_columns(__m256i first, __m256i second) {
    constexpr int kWhich = kHalf == 0 ? 0x88 : 0xDD;
    return _mm256_castps_si256(
        _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), kWhich)
    );
}

inline __m256i low_nibbles(__m256i bytes) {
    return _mm256_and_si256(bytes, _mm256_set1_epi8(15));
}

inline __m256i high_nibbles(__m256i bytes) {
    return low_nibbles(_mm256_srli_epi16(bytes, 4));
}

inline __m256i broadcast(const void* four_bytes) {
    std::int32_t value;
    std::memcpy(&value, four_bytes, sizeof value);
    return _mm256_set1_epi32(value);
}

// Dot products of a block and a row, as pairs of 16-bit sums, one pair for each column. The sums cannot
// overflow: 16 products of at most 15 * 128 each. kApart: distance in bytes between chunks of the row.
template <int kApart>
inline __m256i dot(const Weights& weights, const std::int8_t* row) {
    __m256i sum = _mm256_maddubs_epi16(weights.at[0], broadcast(row));
    for (int i = 1; i < kDepth / 4; ++i) {
        const auto* from = row + i / 2 * kApart + i % 2 * 4;
        sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(weights.at[i], broadcast(from)));
    }
    return sum;
}

// Loads eight f16 scales, in the column order of Weights.
inline __m256 load_scales(const void* halves) {
    const auto scales = _mm256_cvtph_ps(_mm_loadu_si128(static_cast<const __m128i*>(halves)));
    return _mm256_permutevar8x32_ps(scales, column_order());
}

inline __m256 load_sums(const float* from) {
    return _mm256_permutevar8x32_ps(_mm256_loadu_ps(from), column_order());
}

inline void store_sums(float* to, __m256 sums) {
    _mm256_storeu_ps(to, _mm256_permutevar8x32_ps(sums, column_order()));
}

} // namespace sotto::llama
