// Kernels for Q4_0 weights on AVX-512 with VNNI.
//
// ggml's kernel broadcasts eight bytes of activations with an instruction of its own, and adds 64-bit sums up
// for each block. Here vpdpbusd reads and broadcasts four bytes itself, and a lane holds a column: 11
// instructions for 512 products.
#include "matmul.hpp"
#include "q4_0_tile.hpp"
#include "vnni.hpp"

namespace sotto::llama {
namespace {

class Vnni {
public:
    static constexpr int kWidth = 2 * kColumns;
    using Sums = __m512;
    using Groups = VnniGroups<block_q4_0x8>;

    Vnni(const Groups& groups, int block) {
        const auto& a = groups.first[block];
        const auto& b = groups.second[block];
        // repacked nibbles are signed: flipping the top bit makes them unsigned
        const auto flip = _mm512_set1_epi8(static_cast<char>(0x88));
        for (int half = 0; half < 2; ++half) {
            const auto first = _mm512_xor_si512(_mm512_loadu_si512(a.qs + half * 64), flip);
            const auto second = _mm512_xor_si512(_mm512_loadu_si512(b.qs + half * 64), flip);
            const auto even = Groups::gather<0x88>(first, second);
            const auto odd = Groups::gather<0xDD>(first, second);
            weights_[2 * half] = Groups::low(even);
            weights_[2 * half + 1] = Groups::low(odd);
            weights_[2 * half + 4] = Groups::low(_mm512_srli_epi16(even, 4));
            weights_[2 * half + 5] = Groups::low(_mm512_srli_epi16(odd, 4));
        }
        scales_ = Groups::scales(a.d, b.d);
    }

    static Sums zero() { return _mm512_setzero_ps(); }

    template <int kApart>
    Sums add(Sums sums, const std::int8_t* row, std::int32_t offset, float scale) const {
        const auto dots = Groups::add_dots<kApart>(_mm512_set1_epi32(-offset), weights_, row);
        const auto scales = _mm512_mul_ps(scales_, _mm512_set1_ps(scale));
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots), scales, sums);
    }

private:
    __m512i weights_[kDepth / 4]; // depths 4 * i to 4 * i + 3 of each column
    __m512 scales_;
};

} // namespace
} // namespace sotto::llama

void sotto_gemm_q4_0_vnni(
    int depth,
    float* to,
    std::size_t apart,
    const void* weights,
    const void* activations,
    int rows,
    int columns
) {
    using namespace sotto::llama;
    multiply_q4_0<Vnni>(depth, to, apart, weights, activations, rows, columns);
}

void sotto_gemv_q4_0_vnni(
    int depth, float* to, std::size_t, const void* weights, const void* activations, int, int columns
) {
    using namespace sotto::llama;
    multiply_q4_0_row<Vnni>(depth, to, weights, activations, columns);
}
