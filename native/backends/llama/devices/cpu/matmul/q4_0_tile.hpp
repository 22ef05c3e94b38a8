// Products of Q4_0 weights and Q8_0 activations, for vectors of any width.
//
// w = scale * (q - 8), with q from 0 to 15 and a scale for each block of 32. `Vectors` holds a block of
// weights of Vectors::kWidth columns:
//
//   Sums                             sums of the columns, in an order of its own; zero(): all 0
//   Groups(weights, column, columns, blocks)
//                                    the groups of eight interleaved columns from `column` on, of `columns`
//     from(block)                    the same groups from a later block on
//     load(from), store(to, sums)    reads or writes the sums of the columns that exist
//   Vectors(groups, block)           unpacks the weights
//     add<kApart>(sums, row, offset, scale)
//                                    returns sums + scale * (weights * row - offset); kApart: distance in
//                                    bytes between chunks of the row
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ggml-cpu/repack.h>

#include "nibbles.hpp"

namespace sotto::llama {

constexpr int kTileRows = 16;
constexpr int kTileBlocks = 64; // few enough for a tile's activations to stay in the L1 cache

// Terms of a block in a row's result: scale * (dot - offset), where `offset` is 8 * the sum of the row's
// activations.
struct RowTerms {
    std::int32_t offset[kTileRows];
    float scale[kTileRows];
};

// Activations of a part of a product: `rows` rows (at most kTileRows) and `blocks` blocks (at most
// kTileBlocks).
template <class Vectors>
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

    // Multiplies the activations by the columns of `groups`. to: results. adds: accumulates instead of
    // overwriting.
    void multiply(const typename Vectors::Groups& groups, float* to, std::size_t apart, bool adds) const {
        typename Vectors::Sums sums[kTileRows];
        for (int row = 0; row < rows_; ++row) {
            sums[row] = adds ? groups.load(to + static_cast<std::size_t>(row) * apart) : Vectors::zero();
        }
        for (int b = 0; b < blocks_; ++b) {
            add_block(Vectors(groups, b), b, sums);
        }
        for (int row = 0; row < rows_; ++row) {
            groups.store(to + static_cast<std::size_t>(row) * apart, sums[row]);
        }
    }

private:
    // Computes `offset` and `scale` of RowTerms for four interleaved rows.
    static void set_terms(const block_q8_0x4& block, std::int32_t* offset, float* scale) {
        auto pairs = _mm256_setzero_si256();
        for (int i = 0; i < kDepth / kChunk; ++i) {
            const auto activations = load_bytes(block.qs + i * kInterleaved * kChunk);
            pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(_mm256_set1_epi8(1), activations));
        }
        std::int32_t halves[2 * kInterleaved];
        const auto sums = _mm256_madd_epi16(pairs, _mm256_set1_epi16(8));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(halves), sums);
        for (int row = 0; row < kInterleaved; ++row) {
            offset[row] = halves[2 * row] + halves[2 * row + 1];
        }
        _mm_storeu_ps(scale, _mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(block.d))));
    }

    const block_q8_0x4& at(int block, int row) const {
        return activations_[row / kInterleaved * apart_ + block];
    }

    void add_block(const Vectors& weights, int b, typename Vectors::Sums* sums) const {
        const auto& terms = terms_[b];
        for (int first = 0; first < rows_; first += kInterleaved) {
            const auto* activations = at(b, first).qs;
            for (int i = 0; i < kInterleaved; ++i) {
                const auto row = first + i;
                sums[row] = weights.template add<kInterleaved * kChunk>(
                    sums[row], activations + i * kChunk, terms.offset[row], terms.scale[row]
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

// See sotto_gemm_q4_0().
template <class Vectors>
void multiply_q4_0(
    int depth,
    float* to,
    std::size_t apart,
    const void* weights,
    const void* activations,
    int rows,
    int columns
) {
    const auto all = depth / kDepth;
    for (int first = 0; first < all; first += kTileBlocks) {
        const auto blocks = std::min(all - first, kTileBlocks);
        for (int row = 0; row < rows; row += kTileRows) {
            const auto* from = static_cast<const block_q8_0x4*>(activations) + row / kInterleaved * all;
            const Tile<Vectors> tile(from + first, all, std::min(rows - row, kTileRows), blocks);
            for (int column = 0; column < columns; column += Vectors::kWidth) {
                const typename Vectors::Groups groups(weights, column, columns, all);
                auto* place = to + static_cast<std::size_t>(row) * apart + column;
                tile.multiply(groups.from(first), place, apart, first > 0);
            }
        }
    }
}

template <class Vectors>
std::int32_t sum_of(const std::int8_t* activations) {
    const auto pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), load_bytes(activations));
    const auto fours = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    const auto halves = _mm_add_epi32(_mm256_castsi256_si128(fours), _mm256_extracti128_si256(fours, 1));
    const auto twos = _mm_add_epi32(halves, _mm_shuffle_epi32(halves, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(twos, _mm_shuffle_epi32(twos, 0xB1)));
}

// See sotto_gemv_q4_0().
template <class Vectors>
void multiply_q4_0_row(int depth, float* to, const void* weights, const void* activations, int columns) {
    const auto blocks = depth / kDepth;
    const auto* from = static_cast<const block_q8_0*>(activations);
    for (int column = 0; column < columns; column += Vectors::kWidth) {
        const typename Vectors::Groups groups(weights, column, columns, blocks);
        auto sum = Vectors::zero();
        for (int b = 0; b < blocks; ++b) {
            const auto offset = 8 * sum_of<Vectors>(from[b].qs);
            sum = Vectors(groups, b).template add<kChunk>(sum, from[b].qs, offset, _cvtsh_ss(from[b].d));
        }
        groups.store(to + column, sum);
    }
}

} // namespace sotto::llama
