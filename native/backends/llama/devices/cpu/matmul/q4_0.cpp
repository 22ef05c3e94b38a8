// Q4_0 weights: w = scale * (q - 8), with q from 0 to 15 and a scale for each block of 32.
#include <algorithm>

#include <ggml-cpu/repack.h>

#include "matmul.hpp"
#include "nibbles.hpp"

namespace sotto::llama {
namespace {

constexpr int kTileRows = 16;
constexpr int kTileBlocks = 64; // few enough for a tile's activations to stay in the L1 cache

// Terms of a block in a row's result: scale * (dot - offset), where `offset` is 8 * the sum of the row's
// activations.
struct RowTerms {
    std::int32_t offset[kTileRows];
    float scale[kTileRows];
};

Weights unpack(const block_q4_0x8& block) {
    // repacked nibbles are signed: flipping the top bit makes them unsigned
    const auto flip = _mm256_set1_epi8(static_cast<char>(0x88));
    Weights weights;
    for (int half = 0; half < 2; ++half) {
        const auto first = _mm256_xor_si256(load_bytes(block.qs + half * 64), flip);
        const auto second = _mm256_xor_si256(load_bytes(block.qs + half * 64 + 32), flip);
        const auto even = gather_columns<0>(first, second);
        const auto odd = gather_columns<1>(first, second);
        weights.at[2 * half] = low_nibbles(even);
        weights.at[2 * half + 1] = low_nibbles(odd);
        weights.at[2 * half + 4] = high_nibbles(even);
        weights.at[2 * half + 5] = high_nibbles(odd);
    }
    return weights;
}

__m256 add_product(__m256 sum, __m256i dots, std::int32_t offset, __m256 scales) {
    const auto products = _mm256_madd_epi16(dots, _mm256_set1_epi16(1));
    const auto signed_products = _mm256_sub_epi32(products, _mm256_set1_epi32(offset));
    return _mm256_fmadd_ps(_mm256_cvtepi32_ps(signed_products), scales, sum);
}

// Computes `offset` and `scale` of RowTerms for four interleaved rows.
void set_terms(const block_q8_0x4& block, std::int32_t* offset, float* scale) {
    auto pairs = _mm256_setzero_si256();
    for (int i = 0; i < kDepth / kChunk; ++i) {
        const auto activations = load_bytes(block.qs + i * kInterleaved * kChunk);
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(_mm256_set1_epi8(1), activations));
    }
    std::int32_t halves[2 * kInterleaved];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(halves), _mm256_madd_epi16(pairs, _mm256_set1_epi16(8)));
    for (int row = 0; row < kInterleaved; ++row) {
        offset[row] = halves[2 * row] + halves[2 * row + 1];
    }
    _mm_storeu_ps(scale, _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block.d))));
}

// Activations of a part of a product: `rows` rows (at most kTileRows) and `blocks` blocks (at most
// kTileBlocks).
class Tile {
public:
    Tile(const block_q8_0x4* activations, int apart, int rows, int blocks)
        : activations_(activations), apart_(apart), rows_(rows), blocks_(blocks) {
        for (int b = 0; b < blocks_; ++b) {
            for (int row = 0; row < rows_; row += kInterleaved) {
                set_terms(at(b, row), terms_[b].offset + row, terms_[b].scale + row);
            }
        }
    }

    // Multiplies the activations by eight columns of weights. to: results. adds: accumulates instead of
    // overwriting.
    void multiply(const block_q4_0x8* weights, float* to, std::size_t apart, bool adds) const {
        __m256 sums[kTileRows];
        for (int row = 0; row < rows_; ++row) {
            sums[row] = adds ? load_sums(to + static_cast<std::size_t>(row) * apart) : _mm256_setzero_ps();
        }
        for (int b = 0; b < blocks_; ++b) {
            add_block(weights[b], b, sums);
        }
        for (int row = 0; row < rows_; ++row) {
            store_sums(to + static_cast<std::size_t>(row) * apart, sums[row]);
        }
    }

private:
    const block_q8_0x4& at(int block, int row) const {
        return activations_[row / kInterleaved * apart_ + block];
    }

    void add_block(const block_q4_0x8& block, int b, __m256* sums) const {
        const auto weights = unpack(block);
        const auto scales = load_scales(block.d);
        const auto& terms = terms_[b];
        for (int first = 0; first < rows_; first += kInterleaved) {
            const auto* activations = at(b, first).qs;
            for (int i = 0; i < kInterleaved; ++i) {
                const auto row = first + i;
                sums[row] = add_product(
                    sums[row],
                    dot<kInterleaved * kChunk>(weights, activations + i * kChunk),
                    terms.offset[row],
                    _mm256_mul_ps(scales, _mm256_set1_ps(terms.scale[row]))
                );
            }
        }
    }

    const block_q8_0x4* activations_;
    const int apart_; // distance in blocks between groups of four rows
    const int rows_;
    const int blocks_;
    RowTerms terms_[kTileBlocks];
};

std::int32_t sum_of(const std::int8_t* activations) {
    const auto pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), load_bytes(activations));
    const auto fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    const auto halves = _mm_add_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
    const auto twos = _mm_add_epi32(halves, _mm_shuffle_epi32(halves, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(twos, _mm_shuffle_epi32(twos, 0xB1)));
}

} // namespace
} // namespace sotto::llama

void sotto_gemm_q4_0(
    int depth,
    float* to,
    std::size_t apart,
    const void* weights,
    const void* activations,
    int rows,
    int columns
) {
    using namespace sotto::llama;
    const auto all = depth / kDepth;
    const auto* groups = static_cast<const block_q4_0x8*>(weights);
    for (int first = 0; first < all; first += kTileBlocks) {
        const auto blocks = std::min(all - first, kTileBlocks);
        for (int row = 0; row < rows; row += kTileRows) {
            const auto* from = static_cast<const block_q8_0x4*>(activations) + row / kInterleaved * all;
            const Tile tile(from + first, all, std::min(rows - row, kTileRows), blocks);
            for (int column = 0; column < columns; column += kColumns) {
                auto* place = to + static_cast<std::size_t>(row) * apart + column;
                tile.multiply(groups + column / kColumns * all + first, place, apart, first > 0);
            }
        }
    }
}

void sotto_gemv_q4_0(
    int depth, float* to, std::size_t, const void* weights, const void* activations, int, int columns
) {
    using namespace sotto::llama;
    const auto blocks = depth / kDepth;
    const auto* from = static_cast<const block_q8_0*>(activations);
    const auto* group = static_cast<const block_q4_0x8*>(weights);
    for (int column = 0; column < columns; column += kColumns, group += blocks) {
        auto sum = _mm256_setzero_ps();
        for (int b = 0; b < blocks; ++b) {
            const auto scale = _mm256_set1_ps(_cvtsh_ss(from[b].d));
            const auto scales = _mm256_mul_ps(load_scales(group[b].d), scale);
            sum = add_product(sum, dot<kChunk>(unpack(group[b]), from[b].qs), 8 * sum_of(from[b].qs), scales);
        }
        store_sums(to + column, sum);
    }
}
