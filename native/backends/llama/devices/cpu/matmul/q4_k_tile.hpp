// Products of Q4_K weights and Q8_K activations, for vectors of any width.
//
// w = scale * s * q - min * m, with q from 0 to 15, s and m from 0 to 63 for each block of 32, and scale and
// min for each superblock of eight blocks. `Vectors` holds a superblock of weights of Vectors::kWidth
// columns:
//
//   Sums, Products             sums of the columns, and those of a superblock; zero(), none(): all 0
//   Groups                     as in q4_0_tile.hpp
//   Vectors(groups, superblock)
//     unpack(block)            unpacks a block of the weights
//     add<kApart>(products, row)
//                              returns products + s * q * row of that block; kApart: distance in bytes
//                              between chunks of the row
//     total(sums, products, of_row, scale)
//                              returns sums + scale * (the superblock's products less the mins times
//                              `of_row`, the sums of the row's blocks)
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include <ggml-cpu/repack.h>

#include "nibbles.hpp"

namespace sotto::llama {

constexpr int kBlocks = 8; // blocks of a superblock
constexpr int kTileRows = 16;
constexpr int kTileSuperblocks = 8; // few enough for a tile's activations to stay in the L1 cache

// Terms of a superblock of activations: its scale, and the sums of its blocks.
struct SuperblockTerms {
    float scale[kTileRows];
    std::int16_t sums[kTileRows][kBlocks];
};

// The packed s and m of a block: s of eight columns, then m.
struct SixBits {
    SixBits(const block_q4_Kx8& superblock, int block) {
        constexpr std::uint32_t kSixBits = 0x3F3F3F3F;
        constexpr std::uint32_t kFourBits = 0x0F0F0F0F;
        constexpr std::uint32_t kTwoBits = 0x03030303;
        std::uint32_t packed[3];
        std::memcpy(packed, superblock.scales + block * sizeof packed, sizeof packed);
        scales = joined(packed[0] & kSixBits, (packed[2] & kFourBits) | ((packed[0] >> 6 & kTwoBits) << 4));
        mins =
            joined(packed[1] & kSixBits, (packed[2] >> 4 & kFourBits) | ((packed[1] >> 6 & kTwoBits) << 4));
    }

    static std::uint64_t joined(std::uint32_t first, std::uint32_t second) {
        return std::uint64_t{second} << 32 | first;
    }

    std::uint64_t scales; // a byte for each column
    std::uint64_t mins;
};

// Activations of a part of a product: `rows` rows (at most kTileRows) and `superblocks` superblocks (at most
// kTileSuperblocks).
template <class Vectors>
class SuperblockTile {
public:
    SuperblockTile(const block_q8_Kx4* activations, int apart, int rows, int superblocks)
        : activations_(activations), apart_(apart), rows_(rows), superblocks_(superblocks) {
        for (int b = 0; b < superblocks_; ++b) {
            for (int row = 0; row < rows_; ++row) {
                set_terms(at(b, row), row, terms_[b]);
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
        for (int b = 0; b < superblocks_; ++b) {
            Vectors weights(groups, b);
            add_superblock(weights, b, sums);
        }
        for (int row = 0; row < rows_; ++row) {
            groups.store(to + static_cast<std::size_t>(row) * apart, sums[row]);
        }
    }

private:
    const block_q8_Kx4& at(int superblock, int row) const {
        return activations_[row / kInterleaved * apart_ + superblock];
    }

    // Sets the terms of `row`. bsums holds sums of 16 activations. Layout: for each 64 activations, four sums
    // of the first row, then four sums of the next row, and so on.
    static void set_terms(const block_q8_Kx4& superblock, int row, SuperblockTerms& terms) {
        const auto i = row % kInterleaved;
        terms.scale[row] = superblock.d[i];
        for (int block = 0; block < kBlocks; ++block) {
            const auto* sums = superblock.bsums + block / 2 * 4 * kInterleaved + i * 4 + block % 2 * 2;
            terms.sums[row][block] = static_cast<std::int16_t>(sums[0] + sums[1]);
        }
    }

    void add_superblock(Vectors& weights, int b, typename Vectors::Sums* sums) const {
        typename Vectors::Products products[kTileRows];
        std::fill_n(products, rows_, Vectors::none());
        for (int block = 0; block < kBlocks; ++block) {
            weights.unpack(block);
            add_block(weights, b, block, products);
        }
        const auto& terms = terms_[b];
        for (int row = 0; row < rows_; ++row) {
            sums[row] = weights.total(sums[row], products[row], terms.sums[row], terms.scale[row]);
        }
    }

    void add_block(const Vectors& weights, int b, int block, typename Vectors::Products* products) const {
        constexpr int kBytes = kDepth * kInterleaved;
        for (int first = 0; first < rows_; first += kInterleaved) {
            const auto* activations = at(b, first).qs + block * kBytes;
            for (int i = 0; i < kInterleaved; ++i) {
                auto& product = products[first + i];
                product = weights.template add<kInterleaved * kChunk>(product, activations + i * kChunk);
            }
        }
    }

    const block_q8_Kx4* activations_;
    const int apart_; // distance in superblocks between groups of four rows
    const int rows_;
    const int superblocks_;
    SuperblockTerms terms_[kTileSuperblocks];
};

// See sotto_gemm_q4_k().
template <class Vectors>
void multiply_q4_k(
    int depth,
    float* to,
    std::size_t apart,
    const void* weights,
    const void* activations,
    int rows,
    int columns
) {
    const auto all = depth / QK_K;
    for (int first = 0; first < all; first += kTileSuperblocks) {
        const auto superblocks = std::min(all - first, kTileSuperblocks);
        for (int row = 0; row < rows; row += kTileRows) {
            const auto* from = static_cast<const block_q8_Kx4*>(activations) + row / kInterleaved * all;
            const auto some = std::min(rows - row, kTileRows);
            const SuperblockTile<Vectors> tile(from + first, all, some, superblocks);
            for (int column = 0; column < columns; column += Vectors::kWidth) {
                const typename Vectors::Groups groups(weights, column, columns, all);
                auto* place = to + static_cast<std::size_t>(row) * apart + column;
                tile.multiply(groups.from(first), place, apart, first > 0);
            }
        }
    }
}

} // namespace sotto::llama
