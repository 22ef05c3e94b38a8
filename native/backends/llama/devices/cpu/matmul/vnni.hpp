// Vectors of 16 columns of 4-bit weights, for AVX-512 with VNNI.
#pragma once

#include <cstdint>
#include <cstring>

#include <immintrin.h>

#include "nibbles.hpp"

namespace sotto::llama {

// The columns of vectors: two groups of eight interleaved columns, or one. Sums are in the order of order().
template <class Block>
struct VnniGroups {
    VnniGroups(const void* weights, int column, int columns, int blocks)
        : first(static_cast<const Block*>(weights) + column / kColumns * blocks),
          second(columns - column > kColumns ? first + blocks : first),
          mask(second == first ? 0x00ff : 0xffff) {}

    VnniGroups from(int block) const { return VnniGroups(first + block, second + block, mask); }

    __m512 load(const float* from) const {
        return _mm512_permutexvar_ps(order(), _mm512_maskz_loadu_ps(mask, from));
    }
    void store(float* to, __m512 sums) const {
        _mm512_mask_storeu_ps(to, mask, _mm512_permutexvar_ps(natural(), sums));
    }

    // The column of each lane after gather().
    static __m512i order() { return _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15); }
    // The lane of each column.
    static __m512i natural() {
        return _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    }

    // Takes 32 bits of each column's chunk: of two columns of a group and two of the next one in turns.
    template <int kWhich>
    static __m512i gather(__m512i a, __m512i b) {
        return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), kWhich));
    }

    static __m512i low(__m512i bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi8(15)); }

    // Loads eight f16 scales of each group, in the order of lanes.
    static __m512 scales(const void* a, const void* b) {
        const auto low = _mm_loadu_si128(static_cast<const __m128i*>(a));
        const auto high = _mm_loadu_si128(static_cast<const __m128i*>(b));
        return _mm512_permutexvar_ps(order(), _mm512_cvtph_ps(_mm256_set_m128i(high, low)));
    }

    // Returns `dots` plus the dot products of 32 weights of each column and a row. kApart: distance in bytes
    // between chunks of the row.
    template <int kApart>
    static __m512i add_dots(__m512i dots, const __m512i (&weights)[kDepth / 4], const std::int8_t* row) {
#pragma GCC unroll 8
        for (int i = 0; i < kDepth / 4; ++i) {
            std::int32_t four;
            std::memcpy(&four, row + i / 2 * kApart + i % 2 * 4, sizeof four);
            dots = _mm512_dpbusd_epi32(dots, weights[i], _mm512_set1_epi32(four));
        }
        return dots;
    }

    const Block* first;
    const Block* second; // of the next eight columns; the first group again if there are none
    __mmask16 mask;      // columns that exist

private:
    VnniGroups(const Block* a, const Block* b, __mmask16 of) : first(a), second(b), mask(of) {}
};

} // namespace sotto::llama
