// Q6_K weights: w = scale * s * (q - 32), with q from 0 to 63, s from -128 to 127 for each 16 weights, and
// scale for each superblock.
//
// Q6_K weights are not repacked. ggml's kernel multiplies one column by one row at a time, and unpacks the
// column for each row. The kernel here unpacks a column once for up to 16 rows, half a superblock at a time.
#include <algorithm>
#include <cstdint>

#include <immintrin.h>

#include <ggml-cpu/ggml-cpu-impl.h>
#include <ggml-cpu/quants.h>

#include "matmul.hpp"

namespace sotto::llama {
namespace {

constexpr int kTileRows = 16;
constexpr int kHalf = QK_K / 2; // weights of half a superblock
constexpr int kVectors = 4;     // vectors of a half
constexpr int kBytes = 32;      // bytes of a vector

struct Half {
    __m256i weights[kVectors]; // unsigned
    __m256i scales[kVectors];  // 16-bit, one for each pair of weights
};

__m256i load(const void* from) {
    return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

__m128i load_scales(const block_q6_K& superblock) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(superblock.scales));
}

// Broadcasts the scale of 16 weights to the lower lane, and the scale of the next 16 weights to the upper
// lane. scales: all scales of a superblock.
__m256i spread(__m128i scales, int first) {
    const auto which = _mm_set_epi64x(0x0101010101010101, 0);
    const auto both = _mm_add_epi8(which, _mm_set1_epi8(static_cast<char>(first)));
    return _mm256_cvtepi8_epi16(_mm_shuffle_epi8(scales, both));
}

Half unpack(const block_q6_K& superblock, int half) {
    const auto four_bits = _mm256_set1_epi8(15);
    const auto two_bits = _mm256_set1_epi8(0x30);
    const auto low = load(superblock.ql + half * kHalf / 2);
    const auto next = load(superblock.ql + half * kHalf / 2 + kBytes);
    const auto high = load(superblock.qh + half * kHalf / 4);
    const auto join = [&](__m256i lows, __m256i highs) {
        return _mm256_or_si256(_mm256_and_si256(lows, four_bits), _mm256_and_si256(highs, two_bits));
    };
    Half to;
    to.weights[0] = join(low, _mm256_slli_epi16(high, 4));
    to.weights[1] = join(next, _mm256_slli_epi16(high, 2));
    to.weights[2] = join(_mm256_srli_epi16(low, 4), high);
    to.weights[3] = join(_mm256_srli_epi16(next, 4), _mm256_srli_epi16(high, 2));
    const auto scales = load_scales(superblock);
    for (int i = 0; i < kVectors; ++i) {
        to.scales[i] = spread(scales, 2 * (half * kVectors + i));
    }
    return to;
}

float total(__m256 sums) {
    auto sum = _mm_add_ps(_mm256_extractf128_ps(sums, 1), _mm256_castps256_ps128(sums));
    sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
    return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

// At most kTileRows rows of activations.
struct Tile {
    const block_q8_K* activations;
    std::int64_t apart; // distance in superblocks between rows
    int rows;
    int superblocks;

    const block_q8_K& at(int row, int superblock) const { return activations[row * apart + superblock]; }

    // Multiplies the rows by a column of weights. Writes the result of each row to to[row * to_apart].
    void multiply(const block_q6_K* column, float* to, std::int64_t to_apart) const {
        __m256 sums[kTileRows];
        std::fill_n(sums, rows, _mm256_setzero_ps());
        for (int b = 0; b < superblocks; ++b) {
            add_superblock(column[b], b, sums);
        }
        for (int row = 0; row < rows; ++row) {
            to[row * to_apart] = total(sums[row]);
        }
    }

    void add_superblock(const block_q6_K& weights, int b, __m256* sums) const {
        __m256i products[kTileRows];
        const auto scales = _mm256_cvtepi8_epi16(load_scales(weights));
        for (int row = 0; row < rows; ++row) {
            const auto offset = _mm256_madd_epi16(load(at(row, b).bsums), scales);
            // shifting by 5 multiplies by the 32 in (q - 32)
            products[row] = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_slli_epi32(offset, 5));
        }
        add_half(unpack(weights, 0), b, 0, products);
        add_half(unpack(weights, 1), b, kHalf, products);
        const auto scale = _cvtsh_ss(weights.d);
        for (int row = 0; row < rows; ++row) {
            const auto both = _mm256_set1_ps(at(row, b).d * scale);
            sums[row] = _mm256_fmadd_ps(both, _mm256_cvtepi32_ps(products[row]), sums[row]);
        }
    }

    void add_half(const Half& half, int b, int first, __m256i* products) const {
        for (int row = 0; row < rows; ++row) {
            const auto* from = at(row, b).qs + first;
            auto sum = products[row];
            for (int i = 0; i < kVectors; ++i) {
                const auto pairs = _mm256_maddubs_epi16(half.weights[i], load(from + i * kBytes));
                sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, half.scales[i]));
            }
            products[row] = sum;
        }
    }
};

} // namespace
} // namespace sotto::llama

void sotto_multiply_q6_k(
    const void* weights,
    std::int64_t weights_apart,
    const void* activations,
    std::int64_t activations_apart,
    float* to,
    std::int64_t apart,
    int superblocks,
    int rows,
    int columns
) {
    using namespace sotto::llama;
    for (int row = 0; row < rows; row += kTileRows) {
        const auto* from = static_cast<const block_q8_K*>(activations) + row * activations_apart;
        const Tile tile{from, activations_apart, std::min(rows - row, kTileRows), superblocks};
        for (int column = 0; column < columns; ++column) {
            const auto* one = static_cast<const block_q6_K*>(weights) + column * weights_apart;
            tile.multiply(one, to + row * apart + column, apart);
        }
    }
}
