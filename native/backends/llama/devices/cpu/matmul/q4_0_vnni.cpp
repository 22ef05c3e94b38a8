// Kernels for Q4_0 weights on AVX-512 with VNNI.
//
// ggml's kernel broadcasts eight bytes of activations with an instruction of its own, and adds 64-bit sums up
// for each block. Here vpdpbusd reads and broadcasts four bytes itself, and a lane holds a column: 11
// instructions for 512 products.
#include "matmul.hpp"
#include "q4_0_tile.hpp"

namespace sotto::llama {
namespace {

class Vnni {
public:
    static constexpr int kWidth = 2 * kColumns;
    using Sums = __m512; // columns in the order of order()

    struct Groups {
        Groups(const void* weights, int column, int columns, int blocks)
            : first(static_cast<const block_q4_0x8*>(weights) + column / kColumns * blocks),
              second(columns - column > kColumns ? first + blocks : first),
              mask(second == first ? 0x00ff : 0xffff) {}

        Groups from(int block) const { return Groups(first + block, second + block, mask); }

        Sums load(const float* from) const {
            return _mm512_permutexvar_ps(order(), _mm512_maskz_loadu_ps(mask, from));
        }
        void store(float* to, Sums sums) const {
            _mm512_mask_storeu_ps(to, mask, _mm512_permutexvar_ps(natural(), sums));
        }

        const block_q4_0x8* first;
        const block_q4_0x8* second; // of the next eight columns; the first group again if there are none
        __mmask16 mask;             // columns that exist

    private:
        Groups(const block_q4_0x8* a, const block_q4_0x8* b, __mmask16 of) : first(a), second(b), mask(of) {}
    };

    Vnni(const Groups& groups, int block) {
        const auto& a = groups.first[block];
        const auto& b = groups.second[block];
        // repacked nibbles are signed: flipping the top bit makes them unsigned
        const auto flip = _mm512_set1_epi8(static_cast<char>(0x88));
        for (int half = 0; half < 2; ++half) {
            const auto first = _mm512_xor_si512(_mm512_loadu_si512(a.qs + half * 64), flip);
            const auto second = _mm512_xor_si512(_mm512_loadu_si512(b.qs + half * 64), flip);
            const auto even = gather<0x88>(first, second);
            const auto odd = gather<0xDD>(first, second);
            weights_[2 * half] = low(even);
            weights_[2 * half + 1] = low(odd);
            weights_[2 * half + 4] = low(_mm512_srli_epi16(even, 4));
            weights_[2 * half + 5] = low(_mm512_srli_epi16(odd, 4));
        }
        const auto* scales_a = reinterpret_cast<const __m128i*>(a.d);
        const auto* scales_b = reinterpret_cast<const __m128i*>(b.d);
        const auto halves = _mm256_set_m128i(_mm_loadu_si128(scales_b), _mm_loadu_si128(scales_a));
        scales_ = _mm512_permutexvar_ps(order(), _mm512_cvtph_ps(halves));
    }

    static Sums zero() { return _mm512_setzero_ps(); }

    template <int kApart>
    Sums add(Sums sums, const std::int8_t* row, std::int32_t offset, float scale) const {
        auto dots = _mm512_set1_epi32(-offset);
        for (int i = 0; i < kDepth / 4; ++i) {
            std::int32_t four;
            std::memcpy(&four, row + i / 2 * kApart + i % 2 * 4, sizeof four);
            dots = _mm512_dpbusd_epi32(dots, weights_[i], _mm512_set1_epi32(four));
        }
        const auto scales = _mm512_mul_ps(scales_, _mm512_set1_ps(scale));
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots), scales, sums);
    }

private:
    // Takes 32 bits of each column's chunk: of two columns of a group and two of the next one in turns.
    template <int kWhich>
    static __m512i gather(__m512i first, __m512i second) {
        return _mm512_castps_si512(
            _mm512_shuffle_ps(_mm512_castsi512_ps(first), _mm512_castsi512_ps(second), kWhich)
        );
    }

    static __m512i low(__m512i bytes) { return _mm512_and_si512(bytes, _mm512_set1_epi8(15)); }

    // The column of each lane after gather().
    static __m512i order() { return _mm512_setr_epi32(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15); }
    // The lane of each column.
    static __m512i natural() {
        return _mm512_setr_epi32(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
    }

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
