// Kernel for Q4_K weights on AVX-512 with VNNI: see q4_0_vnni.cpp.
#include "matmul.hpp"
#include "q4_k_tile.hpp"
#include "vnni.hpp"

namespace sotto::llama {
namespace {

class Vnni {
public:
    static constexpr int kWidth = 2 * kColumns;
    using Sums = __m512;
    using Products = __m512;
    using Groups = VnniGroups<block_q4_Kx8>;

    Vnni(const Groups& groups, int superblock)
        : first_(groups.first[superblock]), second_(groups.second[superblock]),
          ends_(Groups::scales(first_.d, second_.d)), end_mins_(Groups::scales(first_.dmin, second_.dmin)) {}

    static Sums zero() { return _mm512_setzero_ps(); }
    static Products none() { return _mm512_setzero_ps(); }

    // Two blocks share each byte: the low nibble belongs to the even block.
    void unpack(int block) {
        constexpr int kBytes = kDepth * kColumns;
        const auto at = block / 2 * kBytes;
        const auto shift = _mm_cvtsi32_si128(block % 2 * 4);
        for (int i = 0; i < kDepth / kChunk; ++i) {
            const auto chunk = at + i * kChunk * kColumns;
            const auto first = _mm512_srl_epi16(_mm512_loadu_si512(first_.qs + chunk), shift);
            const auto second = _mm512_srl_epi16(_mm512_loadu_si512(second_.qs + chunk), shift);
            weights_[2 * i] = Groups::low(Groups::gather<0x88>(first, second));
            weights_[2 * i + 1] = Groups::low(Groups::gather<0xDD>(first, second));
        }
        const SixBits a(first_, block);
        const SixBits b(second_, block);
        scales_ = _mm512_mul_ps(_mm512_cvtepi32_ps(spread(a.scales, b.scales)), ends_);
        const auto mins = spread(a.mins, b.mins);
        auto& pair = mins_[block / 2];
        pair = block % 2 == 0 ? mins : _mm512_or_si512(pair, _mm512_slli_epi32(mins, 16));
    }

    template <int kApart>
    Products add(Products products, const std::int8_t* row) const {
        const auto dots = Groups::add_dots<kApart>(_mm512_setzero_si512(), weights_, row);
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(dots), scales_, products);
    }

    Sums total(Sums sums, Products products, const std::int16_t* of_row, float scale) const {
        auto mins = _mm512_setzero_si512();
        for (int i = 0; i < kBlocks / 2; ++i) {
            std::int32_t two;
            std::memcpy(&two, of_row + 2 * i, sizeof two);
            mins = _mm512_dpwssd_epi32(mins, mins_[i], _mm512_set1_epi32(two));
        }
        const auto less = _mm512_fnmadd_ps(_mm512_cvtepi32_ps(mins), end_mins_, products);
        return _mm512_fmadd_ps(less, _mm512_set1_ps(scale), sums);
    }

private:
    static __m512i spread(std::uint64_t a, std::uint64_t b) {
        const auto bytes = _mm_set_epi64x(static_cast<std::int64_t>(b), static_cast<std::int64_t>(a));
        return _mm512_permutexvar_epi32(Groups::order(), _mm512_cvtepu8_epi32(bytes));
    }

    const block_q4_Kx8& first_;
    const block_q4_Kx8& second_;
    __m512i weights_[kDepth / 4]; // of a block: depths 4 * i to 4 * i + 3 of each column
    __m512 scales_;               // scale * s of a block
    __m512i mins_[kBlocks / 2];   // the m of two blocks in each lane
    __m512 ends_;                 // scale and min of the superblock
    __m512 end_mins_;
};

} // namespace
} // namespace sotto::llama

void sotto_gemm_q4_k_vnni(
    int depth,
    float* to,
    std::size_t apart,
    const void* weights,
    const void* activations,
    int rows,
    int columns
) {
    using namespace sotto::llama;
    multiply_q4_k<Vnni>(depth, to, apart, weights, activations, rows, columns);
}
