// Q4_K weights: w = scale * s * q - min * m, with q from 0 to 15, s and m from 0 to 63 for each block of 32,
// and scale and min for each superblock of eight blocks.
#include <algorithm>

#include <ggml-cpu/repack.h>

#include "matmul.hpp"
#include "nibbles.hpp"

namespace sotto::llama {
namespace {

constexpr int kBlocks = 8; // blocks of a superblock
constexpr int kTileRows = 16;
constexpr int kTileSuperblocks = 8; // few enough for a tile's activations to stay in the L1 cache

// Terms of a superblock of activations: its scale, and the sums of its blocks.
struct RowTerms {
    float scale[kTileRows];
    std::int16_t sums[kTileRows][kBlocks];
};

// The s and m of a block, for each column.
struct Factors {
    __m256i scales; // duplicated in both 16-bit halves of a lane
    __m256i mins;
};

Factors load_factors(const block_q4_Kx8& superblock, int block) {
    constexpr std::uint32_t kSixBits = 0x3F3F3F3F;
    constexpr std::uint32_t kFourBits = 0x0F0F0F0F;
    constexpr std::uint32_t kTwoBits = 0x03030303;
    std::uint32_t packed[3];
    std::memcpy(packed, superblock.scales + block * sizeof packed, sizeof packed);
    const auto spread = [](std::uint32_t first, std::uint32_t second) {
        const auto bytes = _mm_cvtsi64_si128(static_cast<std::int64_t>(std::uint64_t{second} << 32 | first));
        return _mm256_permutevar8x32_epi32(_mm256_cvtepu8_epi32(bytes), column_order());
    };
    const auto scales =
        spread(packed[0] & kSixBits, (packed[2] & kFourBits) | ((packed[0] >> 6 & kTwoBits) << 4));
    const auto mins =
        spread(packed[1] & kSixBits, (packed[2] >> 4 & kFourBits) | ((packed[1] >> 6 & kTwoBits) << 4));
    return {_mm256_or_si256(scales, _mm256_slli_epi32(scales, 16)), mins};
}

// Unpacks the weights of a block. Two blocks share each byte: the low nibble belongs to the even block.
Weights unpack(const block_q4_Kx8& superblock, int block) {
    constexpr int kBytes = kDepth * kColumns;
    const auto* quants = superblock.qs + block / 2 * kBytes;
    const auto shift = _mm_cvtsi32_si128(block % 2 * 4);
    Weights weights;
    for (int i = 0; i < kDepth / kChunk; ++i) {
        const auto* chunk = quants + i * kChunk * kColumns;
        const auto first = _mm256_srl_epi16(load_bytes(chunk), shift);
        const auto second = _mm256_srl_epi16(load_bytes(chunk + kChunk * kColumns / 2), shift);
        weights.at[2 * i] = low_nibbles(gather_columns<0>(first, second));
        weights.at[2 * i + 1] = low_nibbles(gather_columns<1>(first, second));
    }
    return weights;
}

// The m of two blocks in each lane, to be multiplied by the sums of activations of the two blocks.
struct Mins {
    __m256i pairs[kBlocks / 2];

    void set(int block, __m256i mins) {
        auto& pair = pairs[block / 2];
        pair = block % 2 == 0 ? mins : _mm256_or_si256(pair, _mm256_slli_epi32(mins, 16));
    }
    __m256i times(const std::int16_t* sums) const {
        auto all = _mm256_setzero_si256();
        for (int i = 0; i < kBlocks / 2; ++i) {
            all = _mm256_add_epi32(all, _mm256_madd_epi16(pairs[i], broadcast(sums + 2 * i)));
        }
        return all;
    }
};

// The scale and min of a superblock of weights, for each column.
struct Ends {
    explicit Ends(const block_q4_Kx8& superblock)
        : scales(load_scales(superblock.d)), mins(load_scales(superblock.dmin)) {}

    // Returns `sum` plus a row's result for the superblock. of: the row's dot products, multiplied by s;
    // sums: sums of the row's activations, multiplied by m; scale: scale of the activations.
    __m256 add(__m256 sum, __m256i of, __m256i sums, float scale) const {
        const auto product = _mm256_mul_ps(_mm256_cvtepi32_ps(of), scales);
        const auto less = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(sums), mins, product);
        return _mm256_fmadd_ps(less, _mm256_set1_ps(scale), sum);
    }

    __m256 scales;
    __m256 mins;
};

// Activations of a part of a product: `rows` rows (at most kTileRows) and `superblocks` superblocks (at most
// kTileSuperblocks).
class Tile {
public:
    Tile(const block_q8_Kx4* activations, int apart, int rows, int superblocks)
        : activations_(activations), apart_(apart), rows_(rows), superblocks_(superblocks) {
        for (int b = 0; b < superblocks_; ++b) {
            for (int row = 0; row < rows_; ++row) {
                set_terms(at(b, row), row, terms_[b]);
            }
        }
    }

    // Multiplies the activations by eight columns of weights. to: results. adds: accumulates instead of
    // overwriting.
    void multiply(const block_q4_Kx8* weights, float* to, std::size_t apart, bool adds) const {
        __m256 sums[kTileRows];
        for (int row = 0; row < rows_; ++row) {
            sums[row] = adds ? load_sums(to + static_cast<std::size_t>(row) * apart) : _mm256_setzero_ps();
        }
        for (int b = 0; b < superblocks_; ++b) {
            add_superblock(weights[b], b, sums);
        }
        for (int row = 0; row < rows_; ++row) {
            store_sums(to + static_cast<std::size_t>(row) * apart, sums[row]);
        }
    }

private:
    const block_q8_Kx4& at(int superblock, int row) const {
        return activations_[row / kInterleaved * apart_ + superblock];
    }

    // Sets the terms of `row`. bsums holds sums of 16 activations. Layout: for each 64 activations, four sums
    // of the first row, then four sums of the next row, and so on.
    static void set_terms(const block_q8_Kx4& superblock, int row, RowTerms& terms) {
        const auto i = row % kInterleaved;
        terms.scale[row] = superblock.d[i];
        for (int block = 0; block < kBlocks; ++block) {
            const auto* sums = superblock.bsums + block / 2 * 4 * kInterleaved + i * 4 + block % 2 * 2;
            terms.sums[row][block] = static_cast<std::int16_t>(sums[0] + sums[1]);
        }
    }

    void add_superblock(const block_q4_Kx8& superblock, int b, __m256* sums) const {
        __m256i products[kTileRows];
        std::fill_n(products, rows_, _mm256_setzero_si256());
        Mins mins;
        for (int block = 0; block < kBlocks; ++block) {
            const auto factors = load_factors(superblock, block);
            mins.set(block, factors.mins);
            add_block(unpack(superblock, block), factors.scales, b, block, products);
        }
        const Ends ends(superblock);
        const auto& terms = terms_[b];
        for (int row = 0; row < rows_; ++row) {
            sums[row] = ends.add(sums[row], products[row], mins.times(terms.sums[row]), terms.scale[row]);
        }
    }

    void add_block(const Weights& weights, __m256i scales, int b, int block, __m256i* products) const {
        constexpr int kBytes = kDepth * kInterleaved;
        for (int first = 0; first < rows_; first += kInterleaved) {
            const auto* activations = at(b, first).qs + block * kBytes;
            for (int i = 0; i < kInterleaved; ++i) {
                const auto dots = dot<kInterleaved * kChunk>(weights, activations + i * kChunk);
                auto& product = products[first + i];
                product = _mm256_add_epi32(product, _mm256_madd_epi16(dots, scales));
            }
        }
    }

    const block_q8_Kx4* activations_;
    const int apart_; // distance in superblocks between groups of four rows
    const int rows_;
    const int superblocks_;
    RowTerms terms_[kTileSuperblocks];
};

} // namespace
} // namespace sotto::llama

void sotto_gemm_q4_k(
    int depth,
    float* to,
    std::size_t apart,
    const void* weights,
    const void* activations,
    int rows,
    int columns
) {
    using namespace sotto::llama;
    const auto all = depth / QK_K;
    const auto* groups = static_cast<const block_q4_Kx8*>(weights);
    for (int first = 0; first < all; first += kTileSuperblocks) {
        const auto superblocks = std::min(all - first, kTileSuperblocks);
        for (int row = 0; row < rows; row += kTileRows) {
            const auto* from = static_cast<const block_q8_Kx4*>(activations) + row / kInterleaved * all;
            const Tile tile(from + first, all, std::min(rows - row, kTileRows), superblocks);
            for (int column = 0; column < columns; column += kColumns) {
                auto* place = to + static_cast<std::size_t>(row) * apart + column;
                tile.multiply(groups + column / kColumns * all + first, place, apart, first > 0);
            }
        }
    }
}
