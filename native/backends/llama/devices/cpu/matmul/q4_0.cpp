// Kernels for Q4_0 weights on AVX2.
#include "matmul.hpp"
#include "q4_0_tile.hpp"

namespace sotto::llama {
namespace {

class Avx2 {
public:
    static constexpr int kWidth = kColumns;
    using Sums = __m256;

    struct Groups {
        Groups(const void* weights, int column, int /*columns*/, int blocks)
            : Groups(static_cast<const block_q4_0x8*>(weights) + column / kColumns * blocks) {}

        Groups from(int block) const { return Groups(first + block); }
        static Sums load(const float* from) { return load_sums(from); }
        static void store(float* to, Sums sums) { store_sums(to, sums); }

        const block_q4_0x8* first;

    private:
        explicit Groups(const block_q4_0x8* at) : first(at) {}
    };

    Avx2(const Groups& groups, int block) : scales_(load_scales(groups.first[block].d)) {
        // repacked nibbles are signed: flipping the top bit makes them unsigned
        const auto flip = _mm256_set1_epi8(static_cast<char>(0x88));
        const auto* bytes = groups.first[block].qs;
        for (int half = 0; half < 2; ++half) {
            const auto first = _mm256_xor_si256(load_bytes(bytes + half * 64), flip);
            const auto second = _mm256_xor_si256(load_bytes(bytes + half * 64 + 32), flip);
            const auto even = gather_columns<0>(first, second);
            const auto odd = gather_columns<1>(first, second);
            weights_.at[2 * half] = low_nibbles(even);
            weights_.at[2 * half + 1] = low_nibbles(odd);
            weights_.at[2 * half + 4] = high_nibbles(even);
            weights_.at[2 * half + 5] = high_nibbles(odd);
        }
    }

    static Sums zero() { return _mm256_setzero_ps(); }

    template <int kApart>
    Sums add(Sums sums, const std::int8_t* row, std::int32_t offset, float scale) const {
        const auto products = _mm256_madd_epi16(dot<kApart>(weights_, row), _mm256_set1_epi16(1));
        const auto signed_products = _mm256_sub_epi32(products, _mm256_set1_epi32(offset));
        const auto scales = _mm256_mul_ps(scales_, _mm256_set1_ps(scale));
        return _mm256_fmadd_ps(_mm256_cvtepi32_ps(signed_products), scales, sums);
    }

private:
    Weights weights_;
    __m256 scales_;
};

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
    multiply_q4_0<Avx2>(depth, to, apart, weights, activations, rows, columns);
}

void sotto_gemv_q4_0(
    int depth, float* to, std::size_t, const void* weights, const void* activations, int, int columns
) {
    using namespace sotto::llama;
    multiply_q4_0_row<Avx2>(depth, to, weights, activations, columns);
}
