// Kernel for Q4_K weights on AVX2.
#include "matmul.hpp"
#include "q4_k_tile.hpp"

namespace sotto::llama {
namespace {

class Avx2 {
public:
    static constexpr int kWidth = kColumns;
    using Sums = __m256;
    using Products = __m256i;

    struct Groups {
        Groups(const void* weights, int column, int /*columns*/, int superblocks)
            : Groups(static_cast<const block_q4_Kx8*>(weights) + column / kColumns * superblocks) {}

        Groups from(int superblock) const { return Groups(first + superblock); }
        static Sums load(const float* from) { return load_sums(from); }
        static void store(float* to, Sums sums) { store_sums(to, sums); }

        const block_q4_Kx8* first;

    private:
        explicit Groups(const block_q4_Kx8* at) : first(at) {}
    };

    Avx2(const Groups& groups, int superblock)
        : from_(groups.first[superblock]), ends_(load_scales(from_.d)), end_mins_(load_scales(from_.dmin)) {}

    static Sums zero() { return _mm256_setzero_ps(); }
    static Products none() { return _mm256_setzero_si256(); }

    // Two blocks share each byte: the low nibble belongs to the even block.
    void unpack(int block) {
        constexpr int kBytes = kDepth * kColumns;
        const auto* quants = from_.qs + block / 2 * kBytes;
        const auto shift = _mm_cvtsi32_si128(block % 2 * 4);
        for (int i = 0; i < kDepth / kChunk; ++i) {
            const auto* chunk = quants + i * kChunk * kColumns;
            const auto first = _mm256_srl_epi16(load_bytes(chunk), shift);
            const auto second = _mm256_srl_epi16(load_bytes(chunk + kChunk * kColumns / 2), shift);
            weights_.at[2 * i] = low_nibbles(gather_columns<0>(first, second));
            weights_.at[2 * i + 1] = low_nibbles(gather_columns<1>(first, second));
        }
        const SixBits factors(from_, block);
        const auto scales = spread(factors.scales);
        scales_ = _mm256_or_si256(scales, _mm256_slli_epi32(scales, 16));
        const auto mins = spread(factors.mins);
        auto& pair = mins_[block / 2];
        pair = block % 2 == 0 ? mins : _mm256_or_si256(pair, _mm256_slli_epi32(mins, 16));
    }

    template <int kApart>
    Products add(Products products, const std::int8_t* row) const {
        return _mm256_add_epi32(products, _mm256_madd_epi16(dot<kApart>(weights_, row), scales_));
    }

    Sums total(Sums sums, Products products, const std::int16_t* of_row, float scale) const {
        auto mins = _mm256_setzero_si256();
        for (int i = 0; i < kBlocks / 2; ++i) {
            mins = _mm256_add_epi32(mins, _mm256_madd_epi16(mins_[i], broadcast(of_row + 2 * i)));
        }
        const auto product = _mm256_mul_ps(_mm256_cvtepi32_ps(products), ends_);
        const auto less = _mm256_fnmadd_ps(_mm256_cvtepi32_ps(mins), end_mins_, product);
        return _mm256_fmadd_ps(less, _mm256_set1_ps(scale), sums);
    }

private:
    static __m256i spread(std::uint64_t bytes) {
        const auto eight = _mm_cvtsi64_si128(static_cast<std::int64_t>(bytes));
        return _mm256_permutevar8x32_epi32(_mm256_cvtepu8_epi32(eight), column_order());
    }

    const block_q4_Kx8& from_;
    Weights weights_;
    __m256i scales_;            // the s of a block, in both 16-bit halves of a lane
    __m256i mins_[kBlocks / 2]; // the m of two blocks in each lane
    __m256 ends_;               // scale and min of the superblock
    __m256 end_mins_;
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
    multiply_q4_k<Avx2>(depth, to, apart, weights, activations, rows, columns);
}
